/** Own subscriptions through other channels than browsers: mail, chats and webhooks. */
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Foreign, Pill, When } from "../admin/parts/Bits";
import { EditDialog, type FormEnds } from "../admin/parts/EditDialog";
import { Loaded, Section } from "../admin/parts/Page";
import css from "../admin/parts/parts.module.css";
import { SaveForm } from "../admin/parts/SaveForm";
import { Table } from "../admin/parts/Table";
import { api, data, type Schemas } from "../api/client";
import { useTexts, useTextsOf } from "../i18n";
import { notifications } from "../i18n/texts/notifications";
import { notifyDone, notifyError } from "../shell/notify";
import { BROWSERS, useKindName, WEB_PUSH } from "./channelKinds";
import { SubscriptionFields, sentOf } from "./SubscriptionFields";

type Subscription = Schemas["SubscriptionView"];
type Channel = Schemas["OfferedChannel"];

const KEY = ["admin", "own-subscriptions"];

async function read() {
  const [{ channels }, { subscriptions }] = await Promise.all([
    data(api.GET("/api/v1/me/notification-channels")),
    data(api.GET("/api/v1/me/notification-subscriptions")),
  ]);
  // A disabled channel is not offered, so that its kind is not known here.
  const browsers = new Set([
    BROWSERS,
    ...channels.filter(({ kind }) => kind === WEB_PUSH).map(({ id }) => id),
  ]);
  return {
    channels: channels.filter(({ id }) => !browsers.has(id)),
    rows: subscriptions.filter((one) => !browsers.has(one.channel_id)),
  };
}

export function OwnSubscriptions() {
  const n = useTextsOf(notifications);
  const query = useQuery({ queryKey: KEY, queryFn: read });
  const channels = query.data?.channels ?? [];
  return (
    <Section
      title={n("own.title")}
      lead={n("own.lead")}
      actions={
        channels.length > 0 && (
          <EditDialog label={n("own.add")}>
            {(ends) => <Subscribe channels={channels} ends={ends} />}
          </EditDialog>
        )
      }
    >
      <Loaded query={query}>
        {({ rows }) =>
          rows.length === 0 ? (
            <p className={css.note}>{n(channels.length === 0 ? "own.no_channels" : "own.none")}</p>
          ) : (
            <Rows rows={rows} channels={channels} />
          )
        }
      </Loaded>
    </Section>
  );
}

function Rows({ rows, channels }: { rows: readonly Subscription[]; channels: readonly Channel[] }) {
  const { t } = useTexts();
  const n = useTextsOf(notifications);
  const kindName = useKindName();
  const kindOf = (row: Subscription) => channels.find(({ id }) => id === row.channel_id)?.kind;
  return (
    <Table
      label={n("own.title")}
      rows={rows}
      id={(row) => row.id}
      empty=""
      columns={[
        {
          head: n("channel"),
          wide: true,
          cell: (row) => {
            const kind = kindOf(row);
            return (
              <>
                <Foreign>{row.channel_name ?? row.channel_id}</Foreign>{" "}
                {!row.is_active && <Inactive />}
                {kind !== undefined && <span className={css.under}>{kindName(kind)}</span>}
              </>
            );
          },
        },
        { head: n("address"), cell: (row) => <Address row={row} /> },
        { head: n("added"), cell: (row) => <When at={row.created_at} /> },
        { head: t("field.actions"), cell: (row) => <Unsubscribe row={row} /> },
      ]}
    />
  );
}

/** The beginning of the address, all that is shown of it, and what its owner calls it. */
export function Address({ row }: { row: Subscription }) {
  const n = useTextsOf(notifications);
  return (
    <>
      {row.address_hint === "" ? (
        <span className={css.quiet}>{n("address.channel")}</span>
      ) : (
        <Foreign mono>{row.address_hint}</Foreign>
      )}
      {row.label !== "" && (
        <span className={css.under}>
          <Foreign>{row.label}</Foreign>
        </span>
      )}
    </>
  );
}

export function Inactive() {
  const n = useTextsOf(notifications);
  return (
    <>
      <Pill tone="quiet">{n("inactive")}</Pill>
      <span className={css.under}>{n("inactive.why")}</span>
    </>
  );
}

function Subscribe({ channels, ends }: { channels: readonly Channel[]; ends: FormEnds }) {
  const n = useTextsOf(notifications);
  const first = channels[0]?.id ?? "";
  const [chosen, setChosen] = useState({ channel_id: first, address: "", label: "" });
  return (
    <SaveForm
      {...ends}
      label={n("own.add")}
      save={() => data(api.POST("/api/v1/me/notification-subscriptions", { body: sentOf(chosen) }))}
    >
      <div className={css.stack}>
        <SubscriptionFields channels={channels} value={chosen} onChange={setChosen} />
      </div>
    </SaveForm>
  );
}

function Unsubscribe({ row }: { row: Subscription }) {
  const n = useTextsOf(notifications);
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () =>
      data(
        api.DELETE("/api/v1/me/notification-subscriptions/{notification_subscription_id}", {
          params: { path: { notification_subscription_id: row.id } },
        }),
      ),
    onSuccess: () => notifyDone(n("own.removed")),
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={end.isPending}
      aria-label={n("own.remove.which", { name: row.label || (row.channel_name ?? row.id) })}
      onClick={() => end.mutate()}
    >
      {n("own.remove")}
    </Button>
  );
}
