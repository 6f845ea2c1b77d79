/** An agent's profile. What is left empty is the service's own value. */
import { Checkbox, NativeSelect, Switch, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { AgentsInput } from "../parts/AgentsInput";
import { AllOrSome } from "../parts/AllOrSome";
import { useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { changeOf, EFFORTS, FAMILIES, fieldsOf, LIMITS, PARTS } from "./agentFields";

type Agent = Schemas["AgentView"];

interface Props {
  agent: Agent;
  reload: () => unknown;
  take: (changed: Agent) => void;
}

export function AgentForm({ agent, reload, take }: Props) {
  const { t } = useTexts();
  const form = useFields(fieldsOf(agent.profile));
  const { text } = form;
  return (
    <SaveForm
      save={() =>
        data(
          api.PATCH("/api/v1/admin/agents/{agent_id}", {
            params: { path: { agent_id: agent.profile.id }, header: ifMatch(agent.version) },
            body: changeOf(form.fields),
          }),
        )
      }
      onSaved={take}
      reload={reload}
    >
      <Section title={t("agents.profile")} lead={t("agents.profile.lead")}>
        <div className={css.form}>
          <TextInput label={t("agents.title")} maxLength={200} {...text("title")} />
          <TextInput
            label={t("agents.model")}
            placeholder={t("agents.model.default")}
            {...text("model")}
          />
          <Textarea
            className={css.whole ?? ""}
            label={t("agents.prompt")}
            autosize
            minRows={3}
            maxRows={16}
            {...text("prompt")}
          />
        </div>
      </Section>
      <Allowed form={form} unknown={agent.unknown} />
      <Thinking form={form} />
      <Subagents form={form} />
    </SaveForm>
  );
}

type Form = ReturnType<typeof useFields<ReturnType<typeof fieldsOf>>>;

function useEntries(): string[] {
  const toolsets = useQuery({
    queryKey: ["admin", "toolsets"],
    queryFn: () => data(api.GET("/api/v1/admin/toolsets")),
  });
  const found = toolsets.data?.toolsets ?? [];
  return [
    ...found.map((toolset) => `toolset:${toolset.name}`),
    ...found.flatMap((toolset) => toolset.tools).sort(),
  ];
}

function Allowed({ form, unknown }: { form: Form; unknown: readonly string[] }) {
  const { t } = useTexts();
  const { fields, put, text, digits } = form;
  const entries = useEntries();
  const skills = useQuery({
    queryKey: ["admin", "skills", "names"],
    queryFn: () => data(api.GET("/api/v1/admin/skills", { params: { query: { limit: 100 } } })),
  });
  const names = [...new Set(skills.data?.skills.map((skill) => skill.name))];
  const byDefault = { value: "", label: t("agents.default") };
  return (
    <Section title={t("agents.allowed")} lead={t("agents.allowed.lead")}>
      <div className={css.form}>
        <AllOrSome
          label={t("agents.selection")}
          description={t("agents.selection.help")}
          all={t("agents.everything")}
          some={t("agents.selection.some")}
          list={t("agents.selection.list")}
          proposed={entries}
          value={fields.selection}
          onChange={(value) => put("selection", value)}
        />
        {unknown.length > 0 && (
          <p className={`${css.note} ${css.whole} foreign`} data-tone="warn">
            {t("agents.unknown", { names: unknown.join(", ") })}
          </p>
        )}
        <AllOrSome
          label={t("agents.skills")}
          description={t("agents.skills.help")}
          all={t("agents.skills.all")}
          some={t("agents.skills.some")}
          list={t("agents.skills.list")}
          proposed={names}
          value={fields.skills}
          onChange={(value) => put("skills", value)}
        />
        <NativeSelect
          label={t("agents.aliases")}
          description={t("agents.aliases.help")}
          {...text("aliases")}
          data={[{ value: "", label: t("common.none") }, ...FAMILIES]}
        />
        <NativeSelect
          label={t("agents.unattended")}
          description={t("agents.unattended.help")}
          {...text("unattended")}
          data={[
            byDefault,
            ...(["deny", "suspend"] as const).map((value) => ({
              value,
              label: t(`agents.unattended.${value}`),
            })),
          ]}
        />
        <NumberField
          label={t("agents.max_visible")}
          description={t("agents.max_visible.help")}
          min={1}
          max={1000}
          {...digits("visible")}
        />
        {LIMITS.map((name) => (
          <NumberField
            key={name}
            label={t(`agents.limit.${name}`)}
            placeholder={t("tools.unset")}
            allowDecimal={name === "cost_per_session"}
            value={fields.limits[name]}
            onChange={(value) => put("limits", { ...fields.limits, [name]: value })}
          />
        ))}
      </div>
    </Section>
  );
}

function Thinking({ form }: { form: Form }) {
  const { t } = useTexts();
  const { fields, put, text, digits } = form;
  const without = fields.without;
  const byDefault = { value: "", label: t("agents.default") };
  return (
    <Section title={t("agents.thinking")} lead={t("agents.thinking.lead")}>
      <div className={css.form}>
        <NumberField label={t("agents.rounds")} min={1} max={1000} {...digits("rounds")} />
        <NumberField label={t("agents.answer")} min={1} max={1_000_000} {...digits("answer")} />
        <NumberField
          label={t("agents.context")}
          description={t("agents.context.help")}
          min={4000}
          {...digits("context")}
        />
        <NumberField
          label={t("agents.temperature")}
          allowDecimal
          min={0}
          max={2}
          step={0.1}
          {...digits("temperature")}
        />
        <NativeSelect
          label={t("agents.adaptive")}
          {...text("adaptive")}
          data={[
            byDefault,
            { value: "true", label: t("agents.adaptive.yes") },
            { value: "false", label: t("agents.adaptive.no") },
          ]}
        />
        <NumberField
          label={t("agents.budget")}
          description={t("agents.budget.help")}
          min={0}
          {...digits("budget")}
        />
        <NativeSelect
          label={t("agents.effort")}
          {...text("effort")}
          data={[
            byDefault,
            ...EFFORTS.map((value) => ({ value, label: t(`agents.effort.${value}`) })),
          ]}
        />
        <TextInput
          label={t("agents.supervisor")}
          description={t("agents.supervisor.help")}
          {...text("supervisor")}
        />
        <TextInput
          label={t("agents.stronger")}
          description={t("agents.stronger.help")}
          {...text("stronger")}
        />
        <div className={`${css.whole} ${css.choice}`}>
          <NativeSelect
            label={t("agents.without")}
            value={without === null ? "all" : "some"}
            onChange={(event) => put("without", event.currentTarget.value === "all" ? null : [])}
            data={[
              { value: "all", label: t("agents.default") },
              { value: "some", label: t("agents.without.some") },
            ]}
          />
          {without !== null && (
            <fieldset className={css.plain}>
              <legend className="hidden-visually">{t("agents.without")}</legend>
              <Checkbox.Group value={without} onChange={(value) => put("without", value)}>
                <div className={css.ticks}>
                  {PARTS.map((value) => (
                    <Checkbox key={value} value={value} label={t(`agents.part.${value}`)} />
                  ))}
                </div>
              </Checkbox.Group>
            </fieldset>
          )}
        </div>
      </div>
    </Section>
  );
}

function Subagents({ form }: { form: Form }) {
  const { t } = useTexts();
  const { fields, put, digits, names, tick } = form;
  const entries = useEntries();
  return (
    <Section title={t("agents.subagents")} lead={t("agents.subagents.lead")}>
      <div className={css.form}>
        <AllOrSome
          label={t("agents.inner_selection")}
          all={t("agents.inherits")}
          some={t("agents.selection.some")}
          list={t("agents.inner_list")}
          proposed={entries}
          value={fields.innerSelection}
          onChange={(value) => put("innerSelection", value)}
        />
        <div className={css.whole}>
          <AgentsInput
            label={t("agents.inner_agents")}
            description={t("agents.inner_agents.help")}
            {...names("innerAgents")}
          />
        </div>
        <NumberField label={t("agents.depth")} min={1} max={5} {...digits("innerDepth")} />
        <NumberField
          label={t("agents.inner_rounds")}
          min={1}
          max={1000}
          {...digits("innerRounds")}
        />
        <Switch label={t("agents.read_only")} {...tick("readOnly")} />
        <Switch label={t("agents.no_shell")} {...tick("noShell")} />
      </div>
    </Section>
  );
}
