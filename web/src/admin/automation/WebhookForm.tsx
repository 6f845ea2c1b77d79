/** A webhook to change: who it runs as, what the agent is told, how often; and a new secret. */
import { Button, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { Output } from "../../renderers/Output";
import { ErrorView } from "../../shell/ErrorView";
import type { FormEnds } from "../parts/EditDialog";
import { type Digits, textOf, useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";

type Webhook = Schemas["AdminWebhook"];

export function WebhookForm({ hook, ends }: { hook: Webhook; ends: FormEnds }) {
  const { t } = useTexts();
  const { fields, text, digits } = useFields({
    name: hook.name,
    owner: hook.owner,
    agent: hook.agent_id ?? "",
    project: hook.project_id ?? "",
    template: hook.template,
    rate: hook.per_minute as Digits,
  });
  return (
    <SaveForm
      {...ends}
      save={() =>
        data(
          api.PATCH("/api/v1/admin/webhooks/{webhook_id}", {
            params: { path: { webhook_id: hook.id }, header: ifMatch(hook.version) },
            body: {
              name: fields.name.trim(),
              owner: fields.owner.trim(),
              agent_id: textOf(fields.agent),
              project_id: textOf(fields.project),
              template: fields.template,
              per_minute: Number(fields.rate),
            },
          }),
        )
      }
    >
      <div className={css.stack}>
        <TextInput data-autofocus label={t("field.name")} required {...text("name")} />
        <TextInput label={t("field.owner")} required {...text("owner")} />
        <TextInput label={t("field.agent")} {...text("agent")} />
        <TextInput label={t("field.project")} {...text("project")} />
        <Textarea
          label={t("webhooks.template")}
          description={t("webhooks.template.help")}
          required
          autosize
          minRows={3}
          {...text("template")}
        />
        <NumberField label={t("webhooks.rate")} required min={1} max={600} {...digits("rate")} />
      </div>
    </SaveForm>
  );
}

/** The old secret ends at once; the new one is shown this once. */
export function NewSecret({ hook, ends }: { hook: Webhook; ends: FormEnds }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const turn = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/webhooks/{webhook_id}/rotate", {
          params: { path: { webhook_id: hook.id }, header: ifMatch(hook.version) },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["admin", "webhooks"] }),
  });
  return (
    <div className={css.stack}>
      <p className={css.note} data-tone="warn" role="status">
        {t(turn.data === undefined ? "webhooks.rotate.what" : "common.secret_once")}
      </p>
      {turn.error !== null && <ErrorView error={asApiError(turn.error)} compact />}
      {turn.data !== undefined && <Output text={turn.data.secret} label={t("common.secret")} />}
      <div className={css.formFoot}>
        {turn.data === undefined ? (
          <Button loading={turn.isPending} onClick={() => turn.mutate()}>
            {t("webhooks.rotate")}
          </Button>
        ) : (
          <Button onClick={ends.onSaved}>{t("common.close")}</Button>
        )}
      </div>
    </div>
  );
}
