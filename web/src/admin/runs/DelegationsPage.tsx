/** Work that agents gave to sub-agents: batches, tasks, where each tool ran and why one did not. */
import { Switch } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, Route, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { isObject, text } from "../../renderers/data";
import { Said } from "../../shell/Said";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Facts, Foreign, Id, Pill, When } from "../parts/Bits";
import { Loaded, More, Page, Section, word } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { runTone } from "./SessionsPage";

type Line = Schemas["BatchLine"];
type Task = Schemas["DelegatedTask"];

export default function DelegationsPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":id" element={<Batch />} />
    </Sections>
  );
}

function List() {
  const { t } = useTexts();
  const [over, setOver] = useState(true);
  const batches = usePages<Line>(
    ["delegations", over],
    async (before) => {
      const query = {
        running: !over,
        limit: 50,
        ...(before === undefined ? {} : { before: String(before) }),
      };
      const page = await data(api.GET("/api/v1/admin/delegations", { params: { query } }));
      return { rows: page.delegations, next: page.next_before };
    },
    { refetchInterval: 5000 },
  );
  return (
    <Page
      title={t("admin.delegations")}
      lead={t("delegations.lead")}
      actions={
        <Switch
          label={t("delegations.over")}
          checked={over}
          onChange={(event) => setOver(event.currentTarget.checked)}
        />
      }
    >
      <Loaded query={batches}>
        {(rows) => (
          <Table
            label={t("admin.delegations")}
            rows={rows}
            id={(batch) => batch.batch_id}
            empty={t("delegations.empty")}
            columns={[
              {
                head: t("delegations.batch"),
                wide: true,
                cell: (batch) => (
                  <>
                    <Link className={css.link} to={`/admin/delegations/${batch.batch_id}`}>
                      <Foreign>{batch.name}</Foreign>
                    </Link>
                    <span className={css.under}>{t(`delegations.kind.${batch.kind}`)}</span>
                  </>
                ),
              },
              {
                head: t("tools.state"),
                cell: (batch) => (
                  <Pill tone={runTone(batch.status)}>{word(t, "runstate", batch.status)}</Pill>
                ),
              },
              { head: t("delegations.tasks"), end: true, cell: (batch) => batch.tasks.length },
              { head: t("field.started"), cell: (batch) => <When at={batch.created_at} /> },
              { head: t("field.session"), cell: (batch) => <Id value={batch.session_id} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={batches} />
    </Page>
  );
}

function Batch() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const queries = useQueryClient();
  const params = { path: { delegation_id: id } };
  const batch = useQuery({
    queryKey: ["admin", "delegation", id],
    queryFn: () => data(api.GET("/api/v1/delegations/{delegation_id}", { params })),
    refetchInterval: (query) => (query.state.data?.status === "running" ? 2000 : false),
  });
  const found = batch.data;
  return (
    <Page
      back={{ to: "/admin/delegations", label: t("admin.delegations") }}
      title={found?.name ?? id}
      lead={found === undefined ? undefined : t(`delegations.kind.${found.kind}`)}
      actions={
        found !== undefined && (
          <>
            <Pill tone={runTone(found.status)}>{word(t, "runstate", found.status)}</Pill>
            <Link className={css.link} to={`/chat/${found.session_id}`}>
              {t("sessions.open")}
            </Link>
            {found.status === "running" && (
              <AskFirst
                label={t("sessions.cancel")}
                title={t("delegations.cancel.title")}
                keep={t("common.keep_running")}
                what={t("delegations.cancel.what")}
                act={() => data(api.POST("/api/v1/delegations/{delegation_id}/cancel", { params }))}
                onDone={() => void queries.invalidateQueries({ queryKey: ["admin"] })}
              />
            )}
          </>
        )
      }
    >
      <Loaded query={batch}>
        {(view) => view.tasks.map((task) => <TaskView key={task.task_id} task={task} />)}
      </Loaded>
    </Page>
  );
}

function TaskView({ task }: { task: Task }) {
  const { t } = useTexts();
  const blocked = Object.entries(task.blocked);
  return (
    <Section
      title={<Foreign>{task.label}</Foreign>}
      lead={<Foreign>{task.goal}</Foreign>}
      actions={<Pill tone={runTone(task.status)}>{word(t, "runstate", task.status)}</Pill>}
    >
      <div className={css.stack}>
        <Facts
          facts={[
            [t("agents.model"), task.model ?? "–"],
            [t("delegations.rounds"), task.rounds],
            [t("delegations.calls"), task.calls.length],
            [t("delegations.worker"), task.worker_pid ?? "–"],
            [t("field.started"), <When key="started" at={task.started_at} />],
            [t("field.finished"), <When key="finished" at={task.finished_at} />],
          ]}
        />
        {task.error !== null && (
          <p className={css.note} data-tone="bad">
            <Said code={text(task.error.code)} message={text(task.error.message)} />
          </p>
        )}
        {task.response !== "" && (
          <pre className={`${css.block} foreign`}>
            {task.partial ? `${t("delegations.partial")}\n\n` : ""}
            {task.response}
          </pre>
        )}
        <details>
          <summary>{t("delegations.routes", { count: Object.keys(task.routes).length })}</summary>
          <Chips
            values={Object.entries(task.routes).map(
              ([tool, route]) => `${tool}: ${word(t, "route", route)}`,
            )}
          />
        </details>
        {blocked.length > 0 && (
          <details>
            <summary>{t("delegations.blocked", { count: blocked.length })}</summary>
            <Table
              label={t("delegations.blocked", { count: blocked.length })}
              rows={blocked}
              id={([tool]) => tool}
              empty=""
              columns={[
                { head: t("tools.tool"), cell: ([tool]) => <Foreign mono>{tool}</Foreign> },
                {
                  head: t("delegations.why"),
                  wide: true,
                  cell: ([tool, reason]) =>
                    isObject(reason) ? (
                      <Said code={text(reason.code)} message={text(reason.message)} tool={tool} />
                    ) : (
                      <Foreign>{String(reason ?? "")}</Foreign>
                    ),
                },
              ]}
            />
          </details>
        )}
      </div>
    </Section>
  );
}
