/** One test message, to an address that is entered here and not kept. */
import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTextsOf } from "../../i18n";
import { channelTexts } from "../../i18n/texts/admin/notifications";
import { useAddressField } from "../../push/channelKinds";
import { visible } from "../../shared/visible";
import { ErrorView } from "../../shell/ErrorView";
import css from "../parts/parts.module.css";

export function NotificationTest({ channel }: { channel: Schemas["AdminNotificationChannel"] }) {
  const c = useTextsOf(channelTexts);
  const field = useAddressField()(channel.kind);
  const [address, setAddress] = useState("");
  const test = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/notification-channels/{notification_channel_id}/test", {
          params: { path: { notification_channel_id: channel.id } },
          body: { address: address.trim() },
        }),
      ),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    test.mutate();
  }
  const result = test.isPending ? undefined : test.data;
  return (
    <form onSubmit={submit} className={css.stack}>
      <p className={css.note}>{c("test.lead")}</p>
      {field !== null && (
        <TextInput
          data-autofocus
          label={field.label}
          description={field.help}
          required={field.required}
          maxLength={2000}
          autoComplete="off"
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
        />
      )}
      {result !== undefined && (
        <p
          className={`${css.note} foreign`}
          data-tone={result.delivered ? "ok" : "bad"}
          role="status"
        >
          {result.delivered
            ? c("test.delivered")
            : c("test.failed", { error: visible(result.error ?? "") })}
        </p>
      )}
      {test.error !== null && <ErrorView error={asApiError(test.error)} compact />}
      <div className={css.formFoot}>
        <Button type="submit" loading={test.isPending}>
          {c("test")}
        </Button>
      </div>
    </form>
  );
}
