/** A channel of notifications: its kind's own fields, and what its messages contain. */
import { Button, Input, NativeSelect, PasswordInput, Switch, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { channelTexts } from "../../i18n/texts/admin/notifications";
import { useKindName } from "../../push/channelKinds";
import type { FormEnds } from "../parts/EditDialog";
import { useFields } from "../parts/fields";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import {
  type Entered,
  enteredOf,
  formOf,
  KINDS,
  type KindField,
  secretLabels,
  valuesOf,
} from "./notificationKinds";

type Channel = Schemas["AdminNotificationChannel"];

const CONTENTS = ["none", "summary", "full"] as const;
const BUTTONS = ["none", "low", "medium"] as const;

interface Props {
  channel: Channel | null;
  ends: FormEnds;
}

export function NotificationForm({ channel: given, ends }: Props) {
  const { t } = useTexts();
  const c = useTextsOf(channelTexts);
  const kindName = useKindName();
  // The list is read again while the form is open; a change is made on what the form shows.
  const [channel] = useState(given);
  const { fields, put, text, tick } = useFields({
    name: channel?.name ?? "",
    kind: channel?.kind ?? "webhook",
    settings: enteredOf(channel?.settings ?? {}),
    secrets: {} as Entered,
    replace: channel === null || channel.secret_names.length === 0,
    content: channel?.content ?? "summary",
    buttons: (channel?.buttons ?? "none") as string,
    enabled: channel?.enabled ?? true,
  });
  const form = formOf(fields.kind);
  const body = () => {
    const secrets = valuesOf(form?.secrets ?? [], fields.secrets) as Record<string, string>;
    const isSent = fields.replace && (channel === null || hasSecrets(channel, secrets));
    return {
      name: fields.name.trim(),
      settings: valuesOf(form?.settings ?? [], fields.settings),
      ...(isSent ? { secrets } : {}),
      content: fields.content,
      buttons: (form?.answers ? fields.buttons : "none") as Channel["buttons"],
      enabled: fields.enabled,
    };
  };
  const into = (part: "settings" | "secrets") => (name: string, value: string) =>
    put(part, { ...fields[part], [name]: value });
  return (
    <SaveForm
      {...ends}
      label={t(channel === null ? "common.create" : "common.save")}
      save={() =>
        channel === null
          ? data(
              api.POST("/api/v1/admin/notification-channels", {
                body: { ...body(), kind: fields.kind },
              }),
            )
          : data(
              api.PATCH("/api/v1/admin/notification-channels/{notification_channel_id}", {
                params: {
                  path: { notification_channel_id: channel.id },
                  header: ifMatch(channel.version),
                },
                body: body(),
              }),
            )
      }
    >
      <div className={css.stack}>
        {channel === null && (
          <NativeSelect
            data-autofocus
            label={c("kind")}
            description={form === null ? undefined : c(form.lead)}
            value={fields.kind}
            onChange={(event) => {
              put("kind", event.currentTarget.value);
              // A value of one kind means something else to another.
              put("settings", {});
              put("secrets", {});
            }}
            data={KINDS.map((value) => ({ value, label: kindName(value) }))}
          />
        )}
        <TextInput
          label={c("name")}
          description={c("name.help")}
          required
          maxLength={64}
          {...text("name")}
        />
        {form?.settings.map((field) => (
          <OneField
            key={field.label}
            field={field}
            entered={fields.settings}
            onEnter={into("settings")}
          />
        ))}
        {form !== null && channel !== null && channel.secret_names.length > 0 && (
          <Stored
            channel={channel}
            replace={fields.replace}
            onReplace={(replace) => put("replace", replace)}
          />
        )}
        {fields.replace &&
          form?.secrets.map((field) => (
            <OneField
              key={field.label}
              field={field}
              isSecret
              entered={fields.secrets}
              onEnter={into("secrets")}
            />
          ))}
        <NativeSelect
          label={c("content")}
          description={c(`content.${fields.content}.help`)}
          value={fields.content}
          onChange={(event) => put("content", event.currentTarget.value as Channel["content"])}
          data={CONTENTS.map((value) => ({ value, label: c(`content.${value}`) }))}
        />
        {form?.answers && (
          <NativeSelect
            label={c("buttons")}
            description={c("buttons.help")}
            {...text("buttons")}
            data={BUTTONS.map((value) => ({ value, label: c(`buttons.${value}`) }))}
          />
        )}
        <Switch label={c("enabled")} description={c("enabled.help")} {...tick("enabled")} />
      </div>
    </SaveForm>
  );
}

/** Whether a change says anything about secrets: some are entered, or stored ones are given up. */
const hasSecrets = (channel: Channel, secrets: Entered): boolean =>
  channel.secret_names.length > 0 || Object.keys(secrets).length > 0;

interface StoredProps {
  channel: Channel;
  replace: boolean;
  onReplace: (replace: boolean) => void;
}

/** Which secrets are stored, which are never shown. */
function Stored({ channel, replace, onReplace }: StoredProps) {
  const { language } = useTexts();
  const c = useTextsOf(channelTexts);
  const names = secretLabels(channel.kind, channel.secret_names).map((label) => c(label));
  return (
    <Input.Wrapper
      labelElement="div"
      label={c("secrets")}
      description={
        replace
          ? c("secrets.all")
          : c("secrets.set", { names: names.join(language === "zh" ? "、" : ", ") })
      }
    >
      <Button mt={4} variant="default" size="compact-sm" onClick={() => onReplace(!replace)}>
        {c(replace ? "secrets.keep" : "secrets.replace")}
      </Button>
    </Input.Wrapper>
  );
}

interface FieldProps {
  field: KindField;
  entered: Entered;
  onEnter: (name: string, value: string) => void;
  isSecret?: boolean;
}

function OneField({ field, entered, onEnter, isSecret = false }: FieldProps) {
  const c = useTextsOf(channelTexts);
  const { name, label, help, required, standard, choices, isNumber = false } = field;
  const shared = {
    label: c(label),
    description: c(help),
    required,
    value: entered[name] ?? "",
    onChange: (event: { currentTarget: { value: string } }) =>
      onEnter(name, event.currentTarget.value),
  };
  if (choices !== undefined) {
    const data = Object.entries(choices).map(([value, said]) => ({ value, label: c(said) }));
    return <NativeSelect {...shared} data={data} />;
  }
  if (isSecret) {
    return (
      <PasswordInput
        {...shared}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": c("secrets.show") }}
      />
    );
  }
  return (
    <TextInput
      {...shared}
      autoComplete="off"
      {...(standard === undefined ? {} : { placeholder: standard })}
      {...(isNumber ? { inputMode: "numeric", pattern: "[0-9]{1,5}" } : {})}
    />
  );
}
