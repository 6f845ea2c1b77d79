/** What waits for a person, of every session: confirmations, and tickets that agents opened. */
import { Switch } from "@mantine/core";
import { useMemo, useState } from "react";
import { Link, Route, useLocation } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { ApprovalCount } from "../../chat/Approvers";
import { hasApproved, namesOf, useMayAnswer } from "../../chat/approving";
import { ConfirmationCard } from "../../chat/ConfirmationCard";
import { EndedElsewhere, useEnded } from "../../chat/EndedElsewhere";
import { requestOf } from "../../chat/storedRequest";
import { useTexts } from "../../i18n";
import { ChatAccounts } from "../../push/ChatAccounts";
import { OwnSubscriptions } from "../../push/OwnSubscriptions";
import { PushDevices } from "../../push/PushDevices";
import { isObject, text } from "../../renderers/data";
import { visible } from "../../shared/visible";
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
import { Conversation } from "./Conversation";
import { MySubstitutes } from "./Substitutes";
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
  const { may, holds } = useIdentity();
  // Who answers for a group by a scope of its own has nothing to pass on.
  const substitutes = holds("approve");
  const tabs = [
    { to: "/admin/inbox", label: t("inbox.waiting") },
    { to: "/admin/inbox/answered", label: t("inbox.answered") },
    ...(substitutes ? [{ to: "/admin/inbox/substitutes", label: t("inbox.substitutes") }] : []),
    ...(may("admin") ? [{ to: "/admin/inbox/tickets", label: t("inbox.tickets") }] : []),
  ];
  return (
    <Page title={t("admin.inbox")} lead={t("inbox.lead")}>
      <Tabs label={t("admin.inbox")} tabs={tabs} />
      <Sections>
        <Route index element={<Waiting />} />
        <Route path="answered" element={<Answered />} />
        {substitutes && <Route path="substitutes" element={<MySubstitutes />} />}
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
  const { holds } = useIdentity();
  const query = useConfirmations("pending");
  const endings = useInboxEndings();
  const waiting = (query.data ?? []).map((row) => row.confirmation_id);
  const over = endings.map((one) => ({ ...one, message: null }));
  const [ended, dismiss] = useEnded(waiting, over);
  // Who answers for a group alone receives notifications through that group.
  const answers = holds("approve");
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
      {(answers || holds("chat")) && <PushDevices />}
      {answers && <ChatAccounts />}
      {(answers || holds("chat")) && <OwnSubscriptions />}
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
  const { me } = useIdentity();
  const { hash } = useLocation();
  const open = useOpenLink();
  const [chosen, setChosen] = useState<string | null>(hash.slice(1) || null);
  const waiting = useMemo(() => inOrder(rows, me?.user_id), [rows, me]);
  const index = Math.max(
    0,
    waiting.findIndex((row) => row.confirmation_id === chosen),
  );
  const shown = waiting[index];
  const confirmation = useMemo(() => shown && requestOf(shown), [shown]);
  const mayAnswer = useMayAnswer(confirmation?.request);
  if (shown === undefined || confirmation === undefined) return null;
  return (
    <>
      <ConfirmationCard
        key={shown.confirmation_id}
        confirmation={confirmation}
        position={index}
        count={waiting.length}
        mayAnswer={mayAnswer}
        onMove={(by) => {
          const next = waiting[(index + by + waiting.length) % waiting.length];
          setChosen(next?.confirmation_id ?? null);
        }}
      />
      {(confirmation.request.approval?.context_turns ?? 0) > 0 && (
        <Conversation
          key={`said-${shown.confirmation_id}`}
          confirmationId={shown.confirmation_id}
        />
      )}
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
                <ApprovalCount confirmation={requestOf(row)} />
              </button>
            ),
          },
          ...common(t, open),
        ]}
      />
    </>
  );
}

/**
 * Oldest first: it has waited longest, and its place does not move when another comes. Last come
 * those that the person has approved, and that wait for others.
 */
function inOrder(rows: readonly View[], userId: string | undefined): View[] {
  const oldest = [...rows].reverse();
  const isDone = (row: View) => hasApproved(requestOf(row), userId);
  return [...oldest.filter((row) => !isDone(row)), ...oldest.filter(isDone)];
}

/** A link to the session of a request, for who may read it. */
function useOpenLink() {
  const { t } = useTexts();
  const { me, may } = useIdentity();
  return (row: View) => {
    const asked = isObject(row.request.requested_by) ? row.request.requested_by : {};
    const owner = text(asked.user_id);
    const isOpen = may("chat") && (may("admin") || owner === "" || owner === me?.user_id);
    if (!isOpen)
      return owner === "" ? "–" : <Foreign>{t("confirm.for_user", { user: owner })}</Foreign>;
    return (
      <Link className={css.link} to={`/chat/${row.session_id}`}>
        {t("inbox.open")}
      </Link>
    );
  };
}

/** What would run, in one line. */
export function subjectOf(row: View): string {
  const subject = isObject(row.request.subject) ? row.request.subject : {};
  const words =
    subject.type === "command" ? text(subject.command) : JSON.stringify(subject.args ?? {});
  const line = words.replaceAll(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

function common(t: ReturnType<typeof useTexts>["t"], open: ReturnType<typeof useOpenLink>) {
  return [
    {
      head: t("field.agent"),
      cell: (row: View) => (row.agent_id == null ? "–" : <Foreign>{row.agent_id}</Foreign>),
    },
    { head: t("field.session"), cell: open },
    { head: t("inbox.asked"), cell: (row: View) => <When at={row.created_at} /> },
  ];
}

function Answered() {
  const { t, language } = useTexts();
  const { may } = useIdentity();
  // Everybody whose approval was needed, or who declined.
  const answeredBy = (row: View) => {
    const { approvedBy } = requestOf(row);
    if (row.state === "approved" && approvedBy.length > 0) {
      return namesOf(approvedBy, language, "and");
    }
    return row.by == null ? "–" : visible(row.by);
  };
  const open = useOpenLink();
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
                cell: (row) => <span className="foreign">{answeredBy(row)}</span>,
              },
              ...common(t, open),
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
