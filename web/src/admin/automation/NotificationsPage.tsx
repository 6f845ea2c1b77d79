/** Channels that tell people about pending requests, and who is subscribed to them. */
import { Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { channelTexts } from "../../i18n/texts/admin/notifications";
import { BROWSERS, useKindName, WEB_PUSH } from "../../push/channelKinds";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, Pill, type PillTone, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page, Section } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { NotificationForm } from "./NotificationForm";
import { NotificationTest } from "./NotificationTest";
import { Subscriptions } from "./Subscriptions";

type Channel = Schemas["AdminNotificationChannel"];

export default function NotificationsPage() {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  return (
    <Page title={t("admin.notifications")} lead={c("lead")}>
      <Tabs
        label={t("admin.notifications")}
        tabs={[
          { to: "/admin/notifications", label: c("channels") },
          { to: "/admin/notifications/subscriptions", label: c("subscriptions") },
        ]}
      />
      <Sections>
        <Route index element={<Channels />} />
        <Route path="subscriptions" element={<Subscriptions />} />
      </Sections>
    </Page>
  );
}

const params = (channel: Channel) => ({
  path: { notification_channel_id: channel.id },
  header: ifMatch(channel.version),
});

function Channels() {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  const kindName = useKindName();
  const channels = usePages<Channel>(
    ["notification-channels"],
    async (after) => {
      const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
      const page = await data(
        api.GET("/api/v1/admin/notification-channels", { params: { query } }),
      );
      return { rows: page.channels, next: page.next_after };
    },
    { refetchInterval: 5000 },
  );
  return (
    <Section
      title={c("channels")}
      actions={
        <EditDialog label={c("channels.new")} isNew>
          {(ends) => <NotificationForm channel={null} ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={channels}>
        {(rows) => (
          <Table
            label={c("channels")}
            rows={rows}
            id={(channel) => channel.id}
            empty={c("channels.empty")}
            columns={[
              {
                head: c("on"),
                cell: (channel) => (
                  <OnOff
                    label={c("channels.switch", { name: channel.name })}
                    on={channel.enabled}
                    change={(enabled) =>
                      data(
                        api.PATCH("/api/v1/admin/notification-channels/{notification_channel_id}", {
                          params: params(channel),
                          body: { enabled },
                        }),
                      )
                    }
                  />
                ),
              },
              {
                head: c("name"),
                wide: true,
                cell: (channel) => (
                  <>
                    <Foreign>{channel.name}</Foreign>
                    <span className={css.under}>
                      {channel.kind === WEB_PUSH ? (
                        c("browsers")
                      ) : (
                        <Foreign mono>{channel.origin}</Foreign>
                      )}
                    </span>
                  </>
                ),
              },
              { head: c("kind"), cell: (channel) => kindName(channel.kind) },
              { head: c("content"), cell: (channel) => c(`content.${channel.content}`) },
              { head: c("buttons"), cell: (channel) => c(`buttons.${channel.buttons}`) },
              { head: c("health"), cell: (channel) => <Health health={channel.health} /> },
              {
                head: t("field.actions"),
                cell: (channel) => (
                  <Actions channel={channel} onDone={() => void channels.refetch()} />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={channels} />
    </Section>
  );
}

/** What can be done with a channel: that of browsers belongs to the service. */
function Actions({ channel, onDone }: { channel: Channel; onDone: () => void }) {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  if (channel.id === BROWSERS) return null;
  return (
    <div className={css.actions}>
      {channel.kind !== WEB_PUSH && (
        <EditDialog label={c("test")} about={channel.name}>
          {() => <NotificationTest channel={channel} />}
        </EditDialog>
      )}
      <EditDialog label={t("common.edit")} about={channel.name}>
        {(ends) => <NotificationForm channel={channel} ends={ends} />}
      </EditDialog>
      <AskFirst
        label={t("common.delete")}
        about={channel.name}
        what={c("channels.delete.what", { name: channel.name })}
        act={() =>
          data(
            api.DELETE("/api/v1/admin/notification-channels/{notification_channel_id}", {
              params: params(channel),
            }),
          )
        }
        onDone={onDone}
      />
    </div>
  );
}

const TONES = { ok: "ok", failing: "bad", disabled: "quiet" } as const satisfies Record<
  string,
  PillTone
>;

function Health({ health }: { health: Channel["health"] }) {
  const c = useTextsOf(channelTexts);
  const state = health.state as keyof typeof TONES;
  return (
    <>
      <Pill tone={TONES[state] ?? "warn"}>{state in TONES ? c(`health.${state}`) : state}</Pill>
      {health.since != null && (
        <span className={css.under}>
          {c("health.since")} <When at={health.since} />
        </span>
      )}
      {health.error != null && (
        <span className={css.under}>
          <Foreign>{health.error}</Foreign>
        </span>
      )}
      {health.pending > 0 && (
        <span className={css.under}>{c("health.pending", { count: health.pending })}</span>
      )}
      {health.oldest_pending != null && (
        <span className={css.under}>
          {c("health.oldest")} <When at={health.oldest_pending} />
        </span>
      )}
    </>
  );
}
