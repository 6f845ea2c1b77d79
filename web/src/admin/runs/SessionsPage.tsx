/** Sessions of everybody, their runs, and what is under way in them. */
import { NativeSelect } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, Route, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, Id, Pill, type PillTone, When } from "../parts/Bits";
import { Loaded, More, Page, word } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

type Session = Schemas["SessionView"];
type Run = Schemas["RunView"];

export default function SessionsPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":id" element={<Runs />} />
    </Sections>
  );
}

function List() {
  const { t } = useTexts();
  const [kind, setKind] = useState<"all" | "chat" | "direct">("all");
  const sessions = usePages<Session>(["sessions", kind], async (before) => {
    const query = { kind, limit: 50, ...(before === undefined ? {} : { before: String(before) }) };
    const page = await data(api.GET("/api/v1/sessions", { params: { query } }));
    return { rows: page.sessions, next: page.next_before };
  });
  return (
    <Page title={t("admin.sessions")} lead={t("sessions.lead")}>
      <div className={css.bar}>
        <NativeSelect
          label={t("sessions.kind")}
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
          data={[
            { value: "all", label: t("filter.all") },
            { value: "chat", label: t("sessions.kind.chat") },
            { value: "direct", label: t("sessions.kind.direct") },
          ]}
        />
      </div>
      <Loaded query={sessions}>
        {(rows) => (
          <Table
            label={t("admin.sessions")}
            rows={rows}
            id={(session) => session.id}
            empty={t("filter.nothing")}
            columns={[
              {
                head: t("field.session"),
                wide: true,
                cell: (session) => (
                  <>
                    <Link className={css.link} to={`/admin/sessions/${session.id}`}>
                      <Foreign>{session.title || t("sessions.untitled")}</Foreign>
                    </Link>
                    <span className={css.under}>{word(t, "sessions.kind", session.kind)}</span>
                  </>
                ),
              },
              { head: t("field.user"), cell: (session) => <Foreign>{session.user_id}</Foreign> },
              {
                head: t("field.agent"),
                cell: (session) => <Foreign>{session.agent_id ?? "–"}</Foreign>,
              },
              { head: t("field.changed"), cell: (session) => <When at={session.updated_at} /> },
              { head: "ID", cell: (session) => <Id value={session.id} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={sessions} />
    </Page>
  );
}

export function runTone(status: string): PillTone {
  if (["completed", "success", "finished"].includes(status)) return "ok";
  if (["running", "waiting", "queued", "claimed"].includes(status)) return "note";
  return ["failed", "error", "timeout", "interrupted"].includes(status) ? "bad" : "quiet";
}

function Runs() {
  const { t, language } = useTexts();
  const id = useParams().id ?? "";
  const queries = useQueryClient();
  const session = useQuery({
    queryKey: ["admin", "session", id],
    queryFn: () =>
      data(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } } })),
  });
  const runs = useQuery({
    queryKey: ["admin", "runs", id],
    refetchInterval: 3000,
    queryFn: () =>
      data(api.GET("/api/v1/sessions/{session_id}/runs", { params: { path: { session_id: id } } })),
  });
  return (
    <Page
      back={{ to: "/admin/sessions", label: t("admin.sessions") }}
      title={session.data?.title || t("sessions.untitled")}
      lead={t("sessions.runs.lead")}
      actions={
        <Link className={css.link} to={`/chat/${id}`}>
          {t("sessions.open")}
        </Link>
      }
    >
      <Loaded query={runs}>
        {({ runs: rows }) => (
          <Table<Run>
            label={t("sessions.runs")}
            rows={rows}
            id={(run) => run.id}
            empty={t("sessions.no_runs")}
            columns={[
              {
                head: t("tools.state"),
                cell: (run) => (
                  <Pill tone={runTone(run.status)}>{word(t, "runstate", run.status)}</Pill>
                ),
              },
              {
                head: t("sessions.trigger"),
                cell: (run) => <Foreign>{word(t, "trigger", run.trigger)}</Foreign>,
              },
              {
                head: t("field.agent"),
                cell: (run) => <Foreign>{run.agent_id ?? "–"}</Foreign>,
              },
              {
                head: t("usage.tokens"),
                end: true,
                cell: (run) =>
                  ((run.usage?.input_tokens ?? 0) + (run.usage?.output_tokens ?? 0)).toLocaleString(
                    language,
                  ),
              },
              { head: t("field.started"), cell: (run) => <When at={run.started_at} /> },
              { head: t("field.finished"), cell: (run) => <When at={run.finished_at} /> },
              { head: "ID", cell: (run) => <Id value={run.id} /> },
              {
                head: t("field.actions"),
                cell: (run) =>
                  run.finished_at == null && (
                    <AskFirst
                      label={t("sessions.cancel")}
                      title={t("sessions.cancel.title")}
                      keep={t("common.keep_running")}
                      about={run.id}
                      what={t("sessions.cancel.what")}
                      act={() =>
                        data(
                          api.POST("/api/v1/sessions/{session_id}/runs/{run_id}/cancel", {
                            params: { path: { session_id: id, run_id: run.id } },
                          }),
                        )
                      }
                      onDone={() => void queries.invalidateQueries({ queryKey: ["admin", "runs"] })}
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}
