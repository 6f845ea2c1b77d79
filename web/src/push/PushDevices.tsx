/** Push notifications: this device on or off, and the other devices. Nothing is asked on load. */
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Pill, When } from "../admin/parts/Bits";
import { Loaded, Section } from "../admin/parts/Page";
import css from "../admin/parts/parts.module.css";
import { Table } from "../admin/parts/Table";
import { useTexts, useTextsOf } from "../i18n";
import { approvals } from "../i18n/texts/approvals";
import { visible } from "../shared/visible";
import { notifyDone, notifyError } from "../shell/notify";
import { addDevice, type Device, type Push, publicKey, push, removeDevice } from "./rest";
import { deviceName, subscribe, subscription, support } from "./worker";

const KEY = ["admin", "push-devices"];
const OWN = "tollgate-push-device";

export function PushDevices() {
  const { t } = useTexts();
  const part = useTextsOf(approvals);
  const query = useQuery({ queryKey: KEY, queryFn: push });
  return (
    <Section title={part("push.title")} lead={part("push.lead")}>
      <Loaded query={query}>
        {(found) => (
          <div className={css.stack}>
            <ThisDevice found={found} />
            {found.devices.length > 0 && (
              <Table
                label={part("push.devices")}
                rows={found.devices}
                id={(device) => device.id}
                empty=""
                columns={[
                  {
                    head: part("push.device"),
                    wide: true,
                    cell: (device) => (
                      <>
                        <span className="foreign">{visible(device.label)}</span>{" "}
                        {!device.is_active && <Pill tone="quiet">{part("push.inactive")}</Pill>}
                      </>
                    ),
                  },
                  { head: part("push.added"), cell: (device) => <When at={device.created_at} /> },
                  {
                    head: t("field.actions"),
                    cell: (device) =>
                      isThis(device) ? (
                        <Pill tone="ok">{part("push.this")}</Pill>
                      ) : (
                        <Revoke device={device} />
                      ),
                  },
                ]}
              />
            )}
          </div>
        )}
      </Loaded>
    </Section>
  );
}

/** The id of this browser's subscription at the service. */
const own = (): string | null => localStorage.getItem(OWN);
const isThis = (device: Device): boolean => device.is_active && device.id === own();

function ThisDevice({ found: { channelId, devices } }: { found: Push }) {
  const { language } = useTexts();
  const part = useTextsOf(approvals);
  const queries = useQueryClient();
  const [blocked, setBlocked] = useState(false);
  const mine = devices.find(isThis);
  const settled = () => queries.invalidateQueries({ queryKey: KEY });

  const start = useMutation({
    mutationFn: async (channel: string) => {
      const allowed = (await Notification.requestPermission()) === "granted";
      setBlocked(!allowed);
      if (!allowed) return;
      const made = await subscribe(await publicKey(), language);
      const label = part("push.label", deviceName());
      localStorage.setItem(OWN, (await addDevice(channel, JSON.stringify(made), label)).id);
    },
    onError: notifyError,
    onSettled: settled,
  });
  const stop = useMutation({
    mutationFn: async (device: Device) => {
      await removeDevice(device.id);
      localStorage.removeItem(OWN);
      await (await subscription())?.unsubscribe();
    },
    onError: notifyError,
    onSettled: settled,
  });

  const has = support();
  if (channelId === null) return <p className={css.note}>{part("push.no_channel")}</p>;
  if (has !== "ready") return <p className={css.note}>{part(`push.${has}`)}</p>;
  return (
    <div>
      {mine === undefined ? (
        <Button size="xs" loading={start.isPending} onClick={() => start.mutate(channelId)}>
          {part("push.on")}
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={stop.isPending}
          onClick={() => stop.mutate(mine)}
        >
          {part("push.off")}
        </Button>
      )}
      {blocked && (
        <p className={css.note} data-tone="warn" role="alert">
          {part("push.refused")}
        </p>
      )}
    </div>
  );
}

function Revoke({ device }: { device: Device }) {
  const part = useTextsOf(approvals);
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => removeDevice(device.id),
    onSuccess: () => notifyDone(part("push.revoked")),
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={end.isPending}
      aria-label={part("push.revoke.which", { device: device.label })}
      onClick={() => end.mutate()}
    >
      {part("push.revoke")}
    </Button>
  );
}
