/** Through which channel, and to which address, a subscription is delivered. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useTextsOf } from "../i18n";
import { notifications } from "../i18n/texts/notifications";
import { useAddressField, useKindName } from "./channelKinds";

export interface Chosen {
  channel_id: string;
  address: string;
  label: string;
}

interface Props {
  channels: readonly { id: string; name: string; kind: string }[];
  value: Chosen;
  onChange: (value: Chosen) => void;
}

export function SubscriptionFields({ channels, value, onChange }: Props) {
  const n = useTextsOf(notifications);
  const kindName = useKindName();
  const addressField = useAddressField();
  const channel = channels.find((one) => one.id === value.channel_id);
  const address = channel === undefined ? null : addressField(channel.kind);
  return (
    <>
      <NativeSelect
        data-autofocus
        label={n("channel")}
        value={value.channel_id}
        onChange={(event) =>
          onChange({ ...value, channel_id: event.currentTarget.value, address: "" })
        }
        data={channels.map((one) => ({
          value: one.id,
          label: `${one.name} · ${kindName(one.kind)}`,
        }))}
      />
      {address !== null && (
        <TextInput
          label={address.label}
          description={address.help}
          required={address.required}
          maxLength={2000}
          autoComplete="off"
          value={value.address}
          onChange={(event) => onChange({ ...value, address: event.currentTarget.value })}
        />
      )}
      <TextInput
        label={n("label")}
        description={n("label.help")}
        maxLength={100}
        value={value.label}
        onChange={(event) => onChange({ ...value, label: event.currentTarget.value })}
      />
    </>
  );
}

/** What is sent of it. */
export const sentOf = ({ channel_id, address, label }: Chosen): Chosen => ({
  channel_id,
  address: address.trim(),
  label: label.trim(),
});
