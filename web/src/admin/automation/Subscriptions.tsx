/** Who receives notifications: people by themselves, groups of approvers, and those of everything. */
import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { channelTexts } from "../../i18n/texts/admin/notifications";
import { notifications } from "../../i18n/texts/notifications";
import { WEB_PUSH } from "../../push/channelKinds";
import { Address, Inactive } from "../../push/OwnSubscriptions";
import { SubscriptionFields, sentOf } from "../../push/SubscriptionFields";
import { visible } from "../../shared/visible";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, When } from "../parts/Bits";
import { EditDialog, type FormEnds } from "../parts/EditDialog";
import { Loaded, More, Section } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { Table } from "../parts/Table";

type Subscription = Schemas["SubscriptionView"];
type Channel = Schemas["AdminNotificationChannel"];
type Group = Schemas["AdminApproverGroup"];

const ALL = "all";
const MOST = 500;

export function Subscriptions() {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  const n = useTextsOf(notifications);
  const audience = useAudience();
  const subscriptions = usePages<Subscription>(["notification-subscriptions"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(
      api.GET("/api/v1/admin/notification-subscriptions", { params: { query } }),
    );
    return { rows: page.subscriptions, next: page.next_after };
  });
  return (
    <Section
      title={c("subscriptions")}
      lead={c("subscriptions.lead")}
      actions={
        <EditDialog label={c("subscriptions.new")} isNew>
          {(ends) => <NewShared ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={subscriptions}>
        {(rows) => (
          <Table
            label={c("subscriptions")}
            rows={rows}
            id={(row) => row.id}
            empty={c("subscriptions.empty")}
            columns={[
              {
                head: c("audience"),
                wide: true,
                cell: (row) => (
                  <>
                    <span className="foreign">{audience(row.audience)}</span>{" "}
                    {!row.is_active && <Inactive />}
                  </>
                ),
              },
              {
                head: n("channel"),
                cell: (row) => <Foreign>{row.channel_name ?? row.channel_id}</Foreign>,
              },
              { head: n("address"), cell: (row) => <Address row={row} /> },
              {
                head: n("added"),
                cell: (row) => (
                  <>
                    <When at={row.created_at} />
                    <span className={css.under}>
                      <Foreign>{row.created_by}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("field.actions"),
                cell: (row) => (
                  <AskFirst
                    label={t("common.delete")}
                    about={row.label || (row.channel_name ?? row.id)}
                    what={c("subscriptions.delete.what", {
                      name: visible(row.label || (row.channel_name ?? row.id)),
                    })}
                    act={() =>
                      data(
                        api.DELETE(
                          "/api/v1/admin/notification-subscriptions/{notification_subscription_id}",
                          { params: { path: { notification_subscription_id: row.id } } },
                        ),
                      )
                    }
                    onDone={() => void subscriptions.refetch()}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={subscriptions} />
    </Section>
  );
}

/** Whose requests a subscription is about, in words. */
function useAudience(): (audience: string) => string {
  const c = useTextsOf(channelTexts);
  return (audience) => {
    if (audience === ALL) return c("audience.all");
    const at = audience.indexOf(":");
    const name = visible(audience.slice(at + 1));
    return c(audience.startsWith("group:") ? "audience.group" : "audience.user", { name });
  };
}

/** Channels with an address that can be typed, and the groups of approvers. */
async function read(): Promise<{ channels: Channel[]; groups: Group[] }> {
  const params = { query: { limit: MOST } };
  const [{ channels }, { groups }] = await Promise.all([
    data(api.GET("/api/v1/admin/notification-channels", { params })),
    data(api.GET("/api/v1/admin/approver-groups", { params })),
  ]);
  return { channels: channels.filter(({ kind }) => kind !== WEB_PUSH), groups };
}

function NewShared({ ends }: { ends: FormEnds }) {
  const n = useTextsOf(notifications);
  const query = useQuery({ queryKey: ["admin", "subscribable"], queryFn: read });
  return (
    <Loaded query={query}>
      {({ channels, groups }) =>
        channels.length === 0 ? (
          <p className={css.note}>{n("own.no_channels")}</p>
        ) : (
          <SharedForm channels={channels} groups={groups} ends={ends} />
        )
      }
    </Loaded>
  );
}

interface SharedProps {
  channels: readonly Channel[];
  groups: readonly Group[];
  ends: FormEnds;
}

function SharedForm({ channels, groups, ends }: SharedProps) {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  const audienceWords = useAudience();
  const [audience, setAudience] = useState(ALL);
  const [chosen, setChosen] = useState({
    channel_id: channels[0]?.id ?? "",
    address: "",
    label: "",
  });
  const audiences = [ALL, ...groups.map(({ id }) => `group:${id}`)];
  return (
    <SaveForm
      {...ends}
      label={t("common.create")}
      save={() =>
        data(
          api.POST("/api/v1/admin/notification-subscriptions", {
            body: { ...sentOf(chosen), audience },
          }),
        )
      }
    >
      <div className={css.stack}>
        <NativeSelect
          label={c("audience")}
          value={audience}
          onChange={(event) => setAudience(event.currentTarget.value)}
          data={audiences.map((value) => ({ value, label: audienceWords(value) }))}
        />
        <SubscriptionFields channels={channels} value={chosen} onChange={setChosen} />
        <p className={css.note}>{c("subscriptions.note")}</p>
      </div>
    </SaveForm>
  );
}
