/** What kinds of notification channels are called, and which addresses their subscriptions have. */
import { useTextsOf } from "../i18n";
import { notifications } from "../i18n/texts/notifications";

/** Names of products, which are the same in every language. */
const NAMES: Readonly<Record<string, string>> = {
  web_push: "Web Push",
  ntfy: "ntfy",
  mattermost: "Mattermost",
  teams: "Microsoft Teams",
  discord: "Discord",
  slack: "Slack",
  telegram: "Telegram",
};
const SAID = ["webhook", "smtp"] as const;

export const WEB_PUSH = "web_push";
/** The channel of browsers, which every service has. */
export const BROWSERS = "web-push";

/** The name of a kind; the service's own for one that has none here. */
export function useKindName(): (kind: string) => string {
  const n = useTextsOf(notifications);
  return (kind) => {
    const said = SAID.find((one) => one === kind);
    return said === undefined ? (NAMES[kind] ?? kind) : n(`kind.${said}`);
  };
}

type Addressed = "smtp" | "ntfy" | "mattermost" | "slack" | "telegram";
const ADDRESSED: Readonly<Record<Addressed, { required: boolean }>> = {
  smtp: { required: true },
  ntfy: { required: true },
  mattermost: { required: false },
  slack: { required: true },
  telegram: { required: true },
};
/** Kinds whose channels have one address each. */
const WHOLE: ReadonlySet<string> = new Set(["webhook", "teams", "discord"]);

export interface AddressField {
  label: string;
  help: string;
  required: boolean;
}

/** The field for the address of a subscription; null for a kind that takes none. */
export function useAddressField(): (kind: string) => AddressField | null {
  const n = useTextsOf(notifications);
  return (kind) => {
    if (WHOLE.has(kind)) return null;
    if (!Object.hasOwn(ADDRESSED, kind)) {
      return { label: n("address"), help: n("address.help"), required: false };
    }
    const known = kind as Addressed;
    return {
      label: n(`address.${known}`),
      help: n(`address.${known}.help`),
      required: ADDRESSED[known].required,
    };
  };
}
