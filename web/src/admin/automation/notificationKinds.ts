/** The fields of each kind of notification channel: what a form asks for, and what it sends. */
import type { ChannelText } from "../../i18n/texts/admin/notifications";

/** Texts of fields, which have an explanation each. */
type FieldText = {
  [Key in ChannelText]: `${Key}.help` extends ChannelText ? Key : never;
}[ChannelText];

export interface KindField {
  /** As the service calls it. */
  name: string;
  label: FieldText;
  help: ChannelText;
  required: boolean;
  /** A whole number. */
  isNumber?: boolean;
  /** What the service takes where nothing is entered. */
  standard?: string;
  /** Texts of what can be chosen, by value; the first is the service's own choice. */
  choices?: Readonly<Record<string, ChannelText>>;
}

export interface KindForm {
  lead: ChannelText;
  settings: readonly KindField[];
  secrets: readonly KindField[];
  /** Whether linked accounts can answer in its messages. */
  answers: boolean;
}

const field = (label: FieldText, more: Partial<KindField> = {}): KindField => ({
  name: label.slice(label.indexOf(".") + 1),
  label,
  help: `${label}.help` as ChannelText,
  required: false,
  ...more,
});
const needed = (label: FieldText): KindField => field(label, { required: true });

export const KIND_FORMS = {
  webhook: {
    lead: "webhook.lead",
    settings: [],
    secrets: [needed("webhook.url"), needed("webhook.key")],
    answers: false,
  },
  smtp: {
    lead: "smtp.lead",
    settings: [
      needed("smtp.host"),
      field("smtp.port", { isNumber: true, standard: "587" }),
      field("smtp.tls", {
        choices: {
          starttls: "smtp.tls.starttls",
          tls: "smtp.tls.tls",
          none: "smtp.tls.none",
        },
      }),
      needed("smtp.sender"),
      field("smtp.sender_name", { standard: "Tollgate" }),
      field("smtp.username"),
    ],
    secrets: [field("smtp.password")],
    answers: false,
  },
  ntfy: {
    lead: "ntfy.lead",
    settings: [field("ntfy.server", { standard: "https://ntfy.sh" })],
    secrets: [field("ntfy.token")],
    answers: false,
  },
  mattermost: {
    lead: "mattermost.lead",
    settings: [],
    secrets: [needed("mattermost.url")],
    answers: false,
  },
  teams: { lead: "teams.lead", settings: [], secrets: [needed("teams.url")], answers: false },
  discord: { lead: "discord.lead", settings: [], secrets: [needed("discord.url")], answers: false },
  slack: {
    lead: "slack.lead",
    settings: [field("slack.api", { standard: "https://slack.com/api" })],
    secrets: [needed("slack.bot_token"), needed("slack.app_token")],
    answers: true,
  },
  telegram: {
    lead: "telegram.lead",
    settings: [field("telegram.api", { standard: "https://api.telegram.org" })],
    secrets: [needed("telegram.token")],
    answers: true,
  },
} as const satisfies Record<string, KindForm>;

export type KnownKind = keyof typeof KIND_FORMS;
export const KINDS = Object.keys(KIND_FORMS) as KnownKind[];

/** The form of a kind; null for one that has no form here. */
export const formOf = (kind: string): KindForm | null =>
  Object.hasOwn(KIND_FORMS, kind) ? KIND_FORMS[kind as KnownKind] : null;

export type Entered = Readonly<Record<string, string>>;

/** What was entered into some fields, as the service takes it; its own value where nothing was. */
export function valuesOf(
  fields: readonly KindField[],
  entered: Entered,
): Record<string, string | number> {
  const given = fields.flatMap(({ name, isNumber }) => {
    const value = (entered[name] ?? "").trim();
    return value === "" ? [] : [[name, isNumber ? Number(value) : value] as const];
  });
  return Object.fromEntries(given);
}

/** What a form shows of stored settings. */
export const enteredOf = (settings: Readonly<Record<string, unknown>>): Entered =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value == null ? "" : String(value)]),
  );

/** What secrets are called, by the names that the service gives them. */
export const secretLabels = (kind: string, names: readonly string[]): ChannelText[] =>
  (formOf(kind)?.secrets ?? []).filter(({ name }) => names.includes(name)).map((one) => one.label);
