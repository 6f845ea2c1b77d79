/** A named call out: where it goes is sent once and never shown again. */
import { NativeSelect, Switch, Textarea, TextInput } from "@mantine/core";
import { api, data, type Schemas } from "../../api/client";
import { parseObject } from "../../chat/ConfirmationCard";
import { useTexts } from "../../i18n";
import { asText } from "../../renderers/data";
import { AgentsInput } from "../parts/AgentsInput";
import type { FormEnds } from "../parts/EditDialog";
import { useFields } from "../parts/fields";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";

type Trigger = Schemas["AdminTrigger"];
type Change = Schemas["TriggerChange"];

/** `Name: value` on each line; null where a line is none. */
export function headersOf(lines: string): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const line of lines.split("\n").filter((one) => one.trim() !== "")) {
    const colon = line.indexOf(":");
    if (colon < 1) return null;
    found[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return found;
}

export function TriggerForm({ trigger, ends }: { trigger: Trigger | null; ends: FormEnds }) {
  const { t } = useTexts();
  const { fields, text, tick, names } = useFields({
    name: trigger?.name ?? "",
    url: "",
    method: (trigger?.method ?? "POST") as string,
    headers: "",
    body: trigger?.body == null ? "" : asText(trigger.body),
    fromCall: trigger?.body_from_call ?? false,
    free: trigger?.free ?? false,
    agents: [...(trigger?.agents ?? [])],
    enabled: trigger?.enabled ?? true,
  });
  const headers = headersOf(fields.headers);
  const body = fields.body.trim() === "" ? null : parseObject(fields.body);
  const isBodyWrong = fields.body.trim() !== "" && body === null;
  const change = (): Change => ({
    name: fields.name.trim(),
    method: fields.method as Trigger["method"],
    body: body as Change["body"],
    body_from_call: fields.fromCall,
    free: fields.free,
    agents: fields.agents,
    enabled: fields.enabled,
    ...(fields.url === "" ? {} : { url: fields.url }),
    ...(fields.headers.trim() === "" ? {} : { headers: headers ?? {} }),
  });
  return (
    <SaveForm
      {...ends}
      label={t(trigger === null ? "common.create" : "common.save")}
      disabled={headers === null || isBodyWrong}
      save={() =>
        trigger === null
          ? data(
              api.POST("/api/v1/admin/triggers", {
                body: { ...change(), name: fields.name.trim(), url: fields.url },
              }),
            )
          : data(
              api.PATCH("/api/v1/admin/triggers/{trigger_id}", {
                params: { path: { trigger_id: trigger.id }, header: ifMatch(trigger.version) },
                body: change(),
              }),
            )
      }
    >
      <div className={css.stack}>
        <TextInput
          data-autofocus
          label={t("field.name")}
          description={t("triggers.name.help")}
          required
          {...text("name")}
        />
        <TextInput
          label={t("triggers.url")}
          description={t(trigger === null ? "triggers.url.help" : "triggers.url.stored")}
          placeholder={trigger?.origin}
          required={trigger === null}
          type="url"
          autoComplete="off"
          {...text("url")}
        />
        <NativeSelect
          label={t("triggers.method")}
          {...text("method")}
          data={["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]}
        />
        <Textarea
          label={t("triggers.headers")}
          description={
            trigger === null || trigger.header_names.length === 0
              ? t("triggers.headers.help")
              : t("triggers.headers.stored", { names: trigger.header_names.join(", ") })
          }
          classNames={{ input: "mono" }}
          autosize
          minRows={2}
          spellCheck={false}
          error={headers === null ? t("triggers.headers.wrong") : undefined}
          {...text("headers")}
        />
        <Textarea
          label={t("triggers.body")}
          description={t("triggers.body.help")}
          classNames={{ input: "mono" }}
          autosize
          minRows={2}
          spellCheck={false}
          error={isBodyWrong ? t("form.not_json") : undefined}
          {...text("body")}
        />
        <Switch label={t("triggers.from_call")} {...tick("fromCall")} />
        <AgentsInput
          label={t("admin.agents")}
          description={t("sources.agents.help")}
          {...names("agents")}
        />
        <Switch
          label={t("triggers.free")}
          description={t("triggers.free.help")}
          {...tick("free")}
        />
        <Switch label={t("sources.enabled")} {...tick("enabled")} />
      </div>
    </SaveForm>
  );
}
