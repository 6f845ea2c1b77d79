/** Ways out by name (triggers), and signed ways in (webhooks). */
import { NumberInput, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { ROOT } from "../../api/root";
import { useTexts } from "../../i18n";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Foreign, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { MakeNew } from "../parts/MakeNew";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { TriggerForm } from "./TriggerForm";
import { NewSecret, WebhookForm } from "./WebhookForm";

type Trigger = Schemas["AdminTrigger"];
type Webhook = Schemas["AdminWebhook"];

export default function TriggersPage() {
  const { t } = useTexts();
  return (
    <Page
      title={t("admin.triggers")}
      lead={t("triggers.lead")}
      actions={
        <Sections>
          <Route
            index
            element={
              <EditDialog label={t("triggers.new")} isNew>
                {(ends) => <TriggerForm trigger={null} ends={ends} />}
              </EditDialog>
            }
          />
          <Route path="webhooks" element={<NewWebhook />} />
        </Sections>
      }
    >
      <Tabs
        label={t("admin.triggers")}
        tabs={[
          { to: "/admin/triggers", label: t("triggers.out") },
          { to: "/admin/triggers/webhooks", label: t("triggers.in") },
        ]}
      />
      <Sections>
        <Route index element={<Triggers />} />
        <Route path="webhooks" element={<Webhooks />} />
      </Sections>
    </Page>
  );
}

function Triggers() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const triggers = usePages<Trigger>(["triggers"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/triggers", { params: { query } }));
    return { rows: page.triggers, next: page.next_after };
  });
  const params = (trigger: Trigger) => ({
    path: { trigger_id: trigger.id },
    header: ifMatch(trigger.version),
  });
  return (
    <>
      <Loaded query={triggers}>
        {(rows) => (
          <Table
            label={t("triggers.out")}
            rows={rows}
            id={(trigger) => trigger.id}
            empty={t("triggers.empty")}
            columns={[
              {
                head: t("tools.on"),
                cell: (trigger) => (
                  <OnOff
                    label={t("triggers.switch", { name: trigger.name })}
                    on={trigger.enabled}
                    change={(enabled) =>
                      data(
                        api.PATCH("/api/v1/admin/triggers/{trigger_id}", {
                          params: params(trigger),
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
                cell: (trigger) => (
                  <>
                    <Foreign>{trigger.name}</Foreign>
                    <span className={css.under}>
                      <Foreign mono>{`${trigger.method} ${trigger.origin}`}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("triggers.asks"),
                cell: (trigger) => t(trigger.free ? "common.no" : "common.yes"),
              },
              { head: t("admin.agents"), cell: (trigger) => <Chips values={trigger.agents} /> },
              { head: t("field.changed"), cell: (trigger) => <When at={trigger.updated_at} /> },
              {
                head: t("field.actions"),
                cell: (trigger) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={trigger.name}>
                      {(ends) => <TriggerForm trigger={trigger} ends={ends} />}
                    </EditDialog>
                    <AskFirst
                      label={t("common.delete")}
                      about={trigger.name}
                      what={t("triggers.delete.what", { name: trigger.name })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/triggers/{trigger_id}", {
                            params: params(trigger),
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "triggers"] })
                      }
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={triggers} />
    </>
  );
}

function Webhooks() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const webhooks = usePages<Webhook>(["webhooks"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/webhooks", { params: { query } }));
    return { rows: page.webhooks, next: page.next_after };
  });
  const params = (hook: Webhook) => ({
    path: { webhook_id: hook.id },
    header: ifMatch(hook.version),
  });
  return (
    <>
      <Loaded query={webhooks}>
        {(rows) => (
          <Table
            label={t("triggers.in")}
            rows={rows}
            id={(hook) => hook.id}
            empty={t("webhooks.empty")}
            columns={[
              {
                head: t("tools.on"),
                cell: (hook) => (
                  <OnOff
                    label={t("webhooks.switch", { name: hook.name })}
                    on={hook.paused === ""}
                    change={(on) =>
                      data(
                        api.POST("/api/v1/admin/webhooks/{webhook_id}/pause", {
                          params: params(hook),
                          body: { paused: !on },
                        }),
                      )
                    }
                  />
                ),
              },
              {
                head: t("field.name"),
                wide: true,
                cell: (hook) => (
                  <>
                    <Foreign mono>{`${ROOT}/api/v1/hooks/${hook.name}`}</Foreign>
                    <span className={css.under}>
                      <Foreign>{hook.template}</Foreign>
                    </span>
                  </>
                ),
              },
              { head: t("field.owner"), cell: (hook) => <Foreign>{hook.owner}</Foreign> },
              { head: t("field.agent"), cell: (hook) => <Foreign>{hook.agent_id ?? "–"}</Foreign> },
              { head: t("webhooks.rate"), end: true, cell: (hook) => hook.per_minute },
              {
                head: t("field.actions"),
                cell: (hook) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={hook.name}>
                      {(ends) => <WebhookForm hook={hook} ends={ends} />}
                    </EditDialog>
                    <EditDialog label={t("webhooks.rotate")} about={hook.name}>
                      {(ends) => <NewSecret hook={hook} ends={ends} />}
                    </EditDialog>
                    <AskFirst
                      label={t("common.delete")}
                      about={hook.name}
                      what={t("webhooks.delete.what", { name: hook.name })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/webhooks/{webhook_id}", {
                            params: params(hook),
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "webhooks"] })
                      }
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={webhooks} />
    </>
  );
}

function NewWebhook() {
  const { t } = useTexts();
  const [name, setName] = useState("");
  const [template, setTemplate] = useState("");
  const [rate, setRate] = useState<string | number>(10);
  return (
    <MakeNew
      label={t("webhooks.new")}
      make={() =>
        data(
          api.POST("/api/v1/admin/webhooks", {
            body: { name, template, per_minute: Number(rate) || 10 },
          }),
        )
      }
    >
      <TextInput
        data-autofocus
        label={t("field.name")}
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label={t("webhooks.template")}
        description={t("webhooks.template.help")}
        required
        autosize
        minRows={3}
        value={template}
        onChange={(event) => setTemplate(event.currentTarget.value)}
      />
      <NumberInput
        label={t("webhooks.rate")}
        min={1}
        allowDecimal={false}
        hideControls
        value={rate}
        onChange={setRate}
      />
    </MakeNew>
  );
}
