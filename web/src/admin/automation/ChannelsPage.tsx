/** Channels into desktop applications, the texts that wait for an operator, and who operates. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Said } from "../../shell/Said";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Foreign, Pill, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page, Section } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { ChannelForm } from "./ChannelForm";

type Channel = Schemas["AdminChannel"];
type Task = Schemas["AdminDesktopTask"];

export default function ChannelsPage() {
  const { t } = useTexts();
  return (
    <Page title={t("admin.channels")} lead={t("channels.lead")}>
      <Tabs
        label={t("admin.channels")}
        tabs={[
          { to: "/admin/channels", label: t("channels.list") },
          { to: "/admin/channels/tasks", label: t("channels.tasks") },
        ]}
      />
      <Sections>
        <Route index element={<Channels />} />
        <Route path="tasks" element={<Tasks />} />
      </Sections>
    </Page>
  );
}

function Channels() {
  const { t } = useTexts();
  const channels = usePages<Channel>(["channels"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/channels", { params: { query } }));
    return { rows: page.channels, next: page.next_after };
  });
  const operators = useQuery({
    queryKey: ["admin", "operators"],
    refetchInterval: 5000,
    queryFn: () => data(api.GET("/api/v1/admin/desktop-operators")),
  });
  return (
    <>
      <Section
        title={t("channels.list")}
        actions={
          <EditDialog label={t("channels.new")} isNew>
            {(ends) => <ChannelForm channel={null} ends={ends} />}
          </EditDialog>
        }
      >
        <Loaded query={channels}>
          {(rows) => (
            <Table
              label={t("channels.list")}
              rows={rows}
              id={(channel) => channel.id}
              empty={t("channels.empty")}
              columns={[
                {
                  head: t("tools.on"),
                  cell: (channel) => (
                    <OnOff
                      label={t("channels.switch", { name: channel.name })}
                      on={channel.enabled}
                      change={(enabled) =>
                        data(
                          api.PATCH("/api/v1/admin/channels/{channel_id}", {
                            params: {
                              path: { channel_id: channel.id },
                              header: ifMatch(channel.version),
                            },
                            body: { enabled },
                          }),
                        )
                      }
                    />
                  ),
                },
                {
                  head: t("field.name"),
                  wide: true,
                  cell: (channel) => (
                    <>
                      <Foreign>{channel.name}</Foreign>
                      <span className={css.under}>
                        <Foreign mono>{channel.id}</Foreign>
                      </span>
                    </>
                  ),
                },
                { head: t("channels.kind"), cell: (channel) => channel.kind },
                { head: t("field.changed"), cell: (channel) => <When at={channel.updated_at} /> },
                {
                  head: t("field.actions"),
                  cell: (channel) => (
                    <div className={css.actions}>
                      <EditDialog label={t("common.edit")} about={channel.name}>
                        {(ends) => <ChannelForm channel={channel} ends={ends} />}
                      </EditDialog>
                      <AskFirst
                        label={t("common.delete")}
                        about={channel.name}
                        what={t("channels.delete.what", { name: channel.name })}
                        act={() =>
                          data(
                            api.DELETE("/api/v1/admin/channels/{channel_id}", {
                              params: {
                                path: { channel_id: channel.id },
                                header: ifMatch(channel.version),
                              },
                            }),
                          )
                        }
                        onDone={() => void channels.refetch()}
                      />
                    </div>
                  ),
                },
              ]}
            />
          )}
        </Loaded>
        <More query={channels} />
      </Section>
      <Section title={t("channels.operators")} lead={t("channels.operators.lead")}>
        <Loaded query={operators}>
          {(found) => (
            <Table
              label={t("channels.operators")}
              rows={found.operators}
              id={(operator) => operator.operator}
              empty={t("channels.no_operators")}
              columns={[
                {
                  head: t("field.name"),
                  wide: true,
                  cell: (operator) => <Foreign>{operator.operator}</Foreign>,
                },
                {
                  head: t("field.user"),
                  cell: (operator) => <Foreign>{operator.user_id}</Foreign>,
                },
                {
                  head: t("channels.apps"),
                  cell: (operator) => <Chips values={operator.apps.map((app) => app.app_id)} />,
                },
                {
                  head: t("channels.since"),
                  cell: (operator) => <When at={operator.connected_at} />,
                },
              ]}
            />
          )}
        </Loaded>
      </Section>
    </>
  );
}

const tone = (status: Task["status"]) =>
  status === "succeeded"
    ? "ok"
    : status === "failed"
      ? "bad"
      : status === "queued"
        ? "warn"
        : "quiet";

function Tasks() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const tasks = usePages<Task>(
    ["desktop-tasks"],
    async (before) => {
      const query = { limit: 50, ...(before === undefined ? {} : { before: String(before) }) };
      const page = await data(api.GET("/api/v1/admin/desktop-tasks", { params: { query } }));
      return { rows: page.tasks, next: page.next_before };
    },
    { refetchInterval: 5000 },
  );
  return (
    <>
      <Loaded query={tasks}>
        {(rows) => (
          <Table
            label={t("channels.tasks")}
            rows={rows}
            id={(task) => task.id}
            empty={t("channels.no_tasks")}
            columns={[
              {
                head: t("channels.text"),
                wide: true,
                cell: (task) => (
                  <>
                    <Foreign>{task.text}</Foreign>
                    <span className={css.under}>
                      <Foreign>{task.target}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("tools.state"),
                cell: (task) => (
                  <>
                    <Pill tone={tone(task.status)}>{t(`desktop.${task.status}`)}</Pill>
                    {task.error != null && (
                      <span className={css.under}>
                        <Said code={task.code ?? ""} message={task.error} />
                      </span>
                    )}
                  </>
                ),
              },
              {
                head: t("channels.operator"),
                cell: (task) => <Foreign>{task.operator ?? "–"}</Foreign>,
              },
              { head: t("field.when"), cell: (task) => <When at={task.created_at} /> },
              {
                head: t("field.actions"),
                cell: (task) =>
                  ["queued", "claimed"].includes(task.status) && (
                    <AskFirst
                      label={t("channels.cancel")}
                      title={t("channels.cancel.title")}
                      keep={t("channels.keep")}
                      about={task.target}
                      what={t("channels.cancel.what")}
                      act={() =>
                        data(
                          api.POST("/api/v1/admin/desktop-tasks/{task_id}/cancel", {
                            params: { path: { task_id: task.id } },
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "desktop-tasks"] })
                      }
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={tasks} />
    </>
  );
}
