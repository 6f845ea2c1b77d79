/** What waits for a person, of every session: confirmations, and tickets that agents opened. */
import { Switch } from "@mantine/core";
import { useMemo, useState } from "react";
import { Link, Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { ConfirmationCard } from "../../chat/ConfirmationCard";
import { EndedElsewhere, useEnded } from "../../chat/EndedElsewhere";
import type { ConfirmationRequest } from "../../events/messages";
import { useTexts } from "../../i18n";
import { isObject, text } from "../../renderers/data";
import { type Alert, isOn, permission, setAlert } from "../../shell/alerts";
import { useIdentity } from "../../shell/identity";
import { useInbox, useInboxEndings } from "../../shell/inbox";
import { Sections } from "../../shell/Sections";
import { Foreign, Id, Pill, type PillTone, When } from "../parts/Bits";
import { Empty, Loaded, More, Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { Tickets } from "./Tickets";

type View = Schemas["ConfirmationView"];

const TONES: Readonly<Record<View["state"], PillTone>> = {
  pending: "warn",
  approved: "ok",
  declined: "note",
  expired: "quiet",
  cancelled: "quiet",
};

export default function InboxPage() {
  const { t } = useTexts();
  const { may } = useIdentity();
  const tabs = [
    { to: "/admin/inbox", label: t("inbox.waiting") },
    { to: "/admin/inbox/answered", label: t("inbox.answered") },
    ...(may("admin") ? [{ to: "/admin/inbox/tickets", label: t("inbox.tickets") }] : []),
  ];
  return (
    <Page title={t("admin.inbox")} lead={t("inbox.lead")}>
      <Tabs label={t("admin.inbox")} tabs={tabs} />
      <Sections>
        <Route index element={<Waiting />} />
        <Route path="answered" element={<Answered />} />
        {may("admin") && <Route path="tickets" element={<Tickets />} />}
      </Sections>
    </Page>
  );
}

function useConfirmations(state: "pending" | null) {
  // The feed of the inbox has it asked again with each change.
  return usePages<View>(["confirmations", state], async (before) => {
    const query = {
      limit: 50,
      ...(state === null ? {} : { state }),
      ...(before === undefined ? {} : { before: String(before) }),
    };
    const page = await data(api.GET("/api/v1/confirmations", { params: { query } }));
    return { rows: page.confirmations, next: page.next_before };
  });
}

function Waiting() {
  const { t } = useTexts();
  const query = useConfirmations("pending");
  const endings = useInboxEndings();
  const waiting = (query.data ?? []).map((row) => row.confirmation_id);
  const over = endings.map((one) => ({ ...one, message: null }));
  const [ended, dismiss] = useEnded(waiting, over);
  return (
    <div className={css.stack}>
      <EndedElsewhere ended={ended} onDismiss={dismiss} />
      <Loaded query={query}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>{t("inbox.empty")}</Empty>
          ) : (
            <div className={css.stack}>
              <Cards rows={rows} />
              <More query={query} />
            </div>
          )
        }
      </Loaded>
      <Questions />
      <AlertSwitches />
    </div>
  );
}

/** Questions are answered in their sessions, which show what led to them. */
function Questions() {
  const { t } = useTexts();
  const questions = useInbox().filter((entry) => entry.kind === "question");
  if (questions.length === 0) return null;
  return (
    <Table
      label={t("inbox.questions")}
      rows={questions}
      id={(entry) => entry.id}
      empty=""
      columns={[
        {
          head: t("inbox.question"),
          wide: true,
          cell: (entry) => <Foreign>{entry.title}</Foreign>,
        },
        {
          head: t("field.agent"),
          cell: (entry) => (entry.agent_id == null ? "–" : <Foreign>{entry.agent_id}</Foreign>),
        },
        {
          head: t("field.session"),
          cell: (entry) => (
            <Link className={css.link} to={`/chat/${entry.session_id}`}>
              {t("inbox.open")}
            </Link>
          ),
        },
        { head: t("inbox.asked"), cell: (entry) => <When at={entry.opened_at} /> },
      ]}
    />
  );
}

/** Asked for here, where a person waits for requests, and nowhere else. */
function AlertSwitches() {
  const { t } = useTexts();
  const [blocked, setBlocked] = useState(false);
  const [on, setOn] = useState({ notification: isOn("notification"), sound: isOn("sound") });

  async function change(alert: Alert, wanted: boolean) {
    const is = await setAlert(alert, wanted);
    setOn((before) => ({ ...before, [alert]: is }));
    setBlocked(alert === "notification" && wanted && !is);
  }

  return (
    <fieldset className={css.alerts}>
      <legend className="hidden-visually">{t("inbox.alerts")}</legend>
      {(["notification", "sound"] as const).map((alert) => (
        <Switch
          key={alert}
          size="xs"
          label={t(`inbox.alerts.${alert}`)}
          checked={on[alert]}
          disabled={alert === "notification" && permission() === "missing"}
          onChange={(event) => void change(alert, event.currentTarget.checked)}
        />
      ))}
      {blocked && <p role="alert">{t("inbox.alerts.refused")}</p>}
    </fieldset>
  );
}

function Cards({ rows }: { rows: readonly View[] }) {
  const { t } = useTexts();
  const { may } = useIdentity();
  const [chosen, setChosen] = useState<string | null>(null);
  // Oldest first: it has waited longest, and its place does not move when another comes.
  const waiting = useMemo(() => [...rows].reverse(), [rows]);
  const index = Math.max(
    0,
    waiting.findIndex((row) => row.confirmation_id === chosen),
  );
  const shown = waiting[index];
  if (shown === undefined) return null;
  // What is stored of the question, with the ids that it has been given.
  const request = {
    ...shown.request,
    confirmation_id: shown.confirmation_id,
    session_id: shown.session_id,
    run_id: shown.run_id ?? null,
    agent_id: shown.agent_id ?? null,
    tool_call_id: shown.tool_call_id,
    expires_at: shown.expires_at ?? null,
  } as unknown as ConfirmationRequest;
  return (
    <>
      <ConfirmationCard
        key={shown.confirmation_id}
        confirmation={{
          request,
          outcome: "pending",
          optionId: null,
          by: null,
          message: null,
          editedArgs: null,
        }}
        position={index}
        count={waiting.length}
        mayAnswer={may("approve")}
        onMove={(by) => {
          const next = waiting[(index + by + waiting.length) % waiting.length];
          setChosen(next?.confirmation_id ?? null);
        }}
      />
      <Table
        label={t("inbox.waiting")}
        rows={waiting}
        id={(row) => row.confirmation_id}
        empty=""
        columns={[
          {
            head: t("inbox.what"),
            wide: true,
            cell: (row) => (
              <button
                type="button"
                className={css.rowButton}
                aria-pressed={row === shown}
                onClick={() => setChosen(row.confirmation_id)}
              >
                <span className="mono">{row.tool_name}</span>
                <span className={`${css.under} foreign mono`}>{subjectOf(row)}</span>
              </button>
            ),
          },
          ...common(t),
        ]}
      />
    </>
  );
}

/** What would run, in one line. */
export function subjectOf(row: View): string {
  const subject = isObject(row.request.subject) ? row.request.subject : {};
  const words =
    subject.type === "command" ? text(subject.command) : JSON.stringify(subject.args ?? {});
  const line = words.replaceAll(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

function common(t: ReturnType<typeof useTexts>["t"]) {
  return [
    {
      head: t("field.agent"),
      cell: (row: View) => (row.agent_id == null ? "–" : <Foreign>{row.agent_id}</Foreign>),
    },
    {
      head: t("field.session"),
      cell: (row: View) => (
        <Link className={css.link} to={`/chat/${row.session_id}`}>
          {t("inbox.open")}
        </Link>
      ),
    },
    { head: t("inbox.asked"), cell: (row: View) => <When at={row.created_at} /> },
  ];
}

function Answered() {
  const { t } = useTexts();
  const { may } = useIdentity();
  const query = useConfirmations(null);
  return (
    <>
      <Loaded query={query}>
        {(rows) => (
          <Table
            label={t("inbox.answered")}
            rows={rows.filter((row) => row.state !== "pending")}
            id={(row) => row.confirmation_id}
            empty={t("inbox.none_answered")}
            columns={[
              {
                head: t("inbox.what"),
                wide: true,
                cell: (row) => (
                  <>
                    <span className="mono">{row.tool_name}</span>
                    <span className={`${css.under} foreign mono`}>{subjectOf(row)}</span>
                  </>
                ),
              },
              {
                head: t("inbox.outcome"),
                cell: (row) => (
                  <>
                    <Pill tone={TONES[row.state]}>{t(`inbox.state.${row.state}`)}</Pill>
                    {row.message != null && row.message !== "" && (
                      <span className={`${css.under} foreign`}>{row.message}</span>
                    )}
                  </>
                ),
              },
              {
                head: t("inbox.by"),
                cell: (row) => (row.by == null ? "–" : <Foreign>{row.by}</Foreign>),
              },
              ...common(t),
              ...(may("admin")
                ? [
                    {
                      head: t("admin.rules"),
                      cell: (row: View) => (
                        <Link
                          className={css.link}
                          to={`/admin/rules/new?confirmation=${encodeURIComponent(row.confirmation_id)}`}
                        >
                          {t("rules.make")}
                        </Link>
                      ),
                    },
                  ]
                : []),
              { head: "ID", cell: (row) => <Id value={row.confirmation_id} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={query} />
    </>
  );
}
