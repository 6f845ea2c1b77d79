/** Runs that begin by the clock: when next, what became of the last ones. */
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Route, useNavigate, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { notifyError } from "../../shell/notify";
import { Said } from "../../shell/Said";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Facts, Foreign, Pill, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { Loaded, More, Page, Section, word } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { runTone } from "../runs/SessionsPage";
import { ScheduleForm } from "./ScheduleForm";

type Schedule = Schemas["ScheduleView"];

export default function SchedulesPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":id" element={<Detail />} />
    </Sections>
  );
}

function useTiming() {
  const { t } = useTexts();
  return (schedule: Schedule): string => {
    if (schedule.cron !== null) return `${schedule.cron} (${schedule.timezone})`;
    if (schedule.every_seconds !== null) {
      return t("schedules.every", { seconds: schedule.every_seconds });
    }
    return schedule.at ?? "–";
  };
}

function List() {
  const { t } = useTexts();
  const timing = useTiming();
  const schedules = usePages<Schedule>(["schedules"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/schedules", { params: { query } }));
    return { rows: page.schedules, next: page.next_after };
  });
  return (
    <Page
      title={t("admin.schedules")}
      lead={t("schedules.lead")}
      actions={
        <EditDialog label={t("schedules.new")} isNew>
          {(ends) => <ScheduleForm schedule={null} ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={schedules}>
        {(rows) => (
          <Table
            label={t("admin.schedules")}
            rows={rows}
            id={(schedule) => schedule.id}
            empty={t("schedules.empty")}
            columns={[
              {
                head: t("field.name"),
                wide: true,
                cell: (schedule) => (
                  <>
                    <Link className={css.link} to={`/admin/schedules/${schedule.id}`}>
                      <Foreign>{schedule.name}</Foreign>
                    </Link>
                    <span className={css.under}>
                      <Foreign>{schedule.prompt}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("schedules.when"),
                cell: (schedule) => <Foreign mono>{timing(schedule)}</Foreign>,
              },
              {
                head: t("tools.state"),
                cell: (schedule) => (
                  <Pill tone={schedule.paused === "" ? "ok" : "quiet"}>
                    {t(schedule.paused === "" ? "rules.state.active" : "schedules.paused")}
                  </Pill>
                ),
              },
              { head: t("schedules.next"), cell: (schedule) => <When at={schedule.next_at} /> },
              { head: t("field.owner"), cell: (schedule) => <Foreign>{schedule.owner}</Foreign> },
              {
                head: t("field.actions"),
                cell: (schedule) => (
                  <EditDialog label={t("common.edit")} about={schedule.name}>
                    {(ends) => <ScheduleForm schedule={schedule} ends={ends} />}
                  </EditDialog>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={schedules} />
    </Page>
  );
}

type Deed = "pause" | "resume" | "run";

function Detail() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const timing = useTiming();
  const go = useNavigate();
  const queries = useQueryClient();
  const params = { path: { schedule_id: id } };
  const schedule = useQuery({
    queryKey: ["admin", "schedule", id],
    queryFn: () => data(api.GET("/api/v1/admin/schedules/{schedule_id}", { params })),
  });
  const history = useQuery({
    queryKey: ["admin", "history", id],
    queryFn: () => data(api.GET("/api/v1/admin/schedules/{schedule_id}/history", { params })),
  });
  const act = useMutation({
    mutationFn: async (deed: Deed): Promise<void> => {
      if (deed === "run") await api.POST("/api/v1/admin/schedules/{schedule_id}/run", { params });
      else if (deed === "pause") {
        await api.POST("/api/v1/admin/schedules/{schedule_id}/pause", { params });
      } else await api.POST("/api/v1/admin/schedules/{schedule_id}/resume", { params });
    },
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  const found = schedule.data;
  return (
    <Page
      back={{ to: "/admin/schedules", label: t("admin.schedules") }}
      title={found?.name ?? id}
      lead={found?.prompt}
      actions={
        found !== undefined && (
          <>
            <Button variant="default" loading={act.isPending} onClick={() => act.mutate("run")}>
              {t("schedules.run")}
            </Button>
            <Button
              variant="default"
              disabled={act.isPending}
              onClick={() => act.mutate(found.paused === "" ? "pause" : "resume")}
            >
              {t(found.paused === "" ? "schedules.pause" : "schedules.resume")}
            </Button>
            <AskFirst
              label={t("common.delete")}
              size="sm"
              what={t("schedules.delete.what")}
              act={() =>
                data(
                  api.DELETE("/api/v1/admin/schedules/{schedule_id}", {
                    params: { ...params, header: ifMatch(found.version) },
                  }),
                )
              }
              onDone={() => {
                void go("/admin/schedules");
                void queries.invalidateQueries({ queryKey: ["admin", "schedules"] });
              }}
            />
          </>
        )
      }
    >
      <Loaded query={schedule}>
        {(view) => (
          <Section title={t("tools.holds")}>
            <Facts
              facts={[
                [t("schedules.when"), timing(view)],
                [t("schedules.next"), <When key="next" at={view.next_at} />],
                [
                  t("tools.state"),
                  view.paused === "" ? (
                    t("rules.state.active")
                  ) : (
                    <span key="paused">
                      {`${t("schedules.paused")}: `}
                      <Said code={view.paused_code ?? ""} message={view.paused} />
                    </span>
                  ),
                ],
                [t("field.owner"), view.owner],
                [t("field.agent"), view.agent_id ?? "–"],
                [t("field.until"), <When key="until" at={view.expires_at} />],
              ]}
            />
          </Section>
        )}
      </Loaded>
      <Loaded query={history}>
        {(view) => (
          <Table
            label={t("schedules.history")}
            rows={view.history}
            id={(slot) => slot.id}
            empty={t("schedules.no_history")}
            columns={[
              { head: t("field.when"), cell: (slot) => <When at={slot.scheduled_at} /> },
              {
                head: t("tools.state"),
                wide: true,
                cell: (slot) => (
                  <>
                    <Pill tone={runTone(slot.run_status ?? slot.status)}>
                      {word(t, "runstate", slot.run_status ?? slot.status)}
                    </Pill>
                    {slot.reason !== "" && (
                      <span className={css.under}>
                        <Said code={slot.reason_code ?? ""} message={slot.reason} />
                      </span>
                    )}
                  </>
                ),
              },
              {
                head: t("field.session"),
                cell: (slot) =>
                  slot.session_id !== "" && (
                    <Link className={css.link} to={`/chat/${slot.session_id}`}>
                      {t("inbox.open")}
                    </Link>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}
