/** An approval policy: which requests it applies to, who answers them, and on which conditions. */
import {
  Button,
  Checkbox,
  NativeSelect,
  NumberInput,
  Switch,
  TagsInput,
  TextInput,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import { AllOrSome } from "../parts/AllOrSome";
import type { FormEnds } from "../parts/EditDialog";
import { type Digits, useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { useUsers } from "../runs/Substitutes";
import { RISKS, type Risk } from "./policyWords";

type Policy = Schemas["AdminApprovalPolicy"];
type Expiry = "setting" | "never" | "after";

/** A step as it is edited. */
interface Step {
  groups: string[];
  owner: boolean;
  minutes: Digits;
}

const MOST_STEPS = 10;
const MOST_SECONDS = 31_536_000;
const FIRST: Step = { groups: [], owner: false, minutes: 0 };

const expiryOf = (seconds: number | null): Expiry =>
  seconds === null ? "setting" : seconds === 0 ? "never" : "after";

function fieldsOf(policy: Policy | null) {
  const selector = policy?.applies_to;
  return {
    name: policy?.name ?? "",
    position: (policy?.position ?? 100) as Digits,
    enabled: policy?.enabled ?? true,
    agents: selector?.agents ?? null,
    projects: selector?.projects ?? null,
    tools: selector?.tools ?? null,
    risks: selector?.risks ?? null,
    owners: selector?.owners ?? null,
    steps: policy?.steps.map(stepOf) ?? [FIRST],
    quorum: (policy?.quorum ?? 1) as Digits,
    notRequester: policy?.not_requester ?? false,
    expiry: expiryOf(policy?.expires_in_s ?? null) as string,
    seconds: (policy?.expires_in_s || 3600) as Digits,
    context: (policy?.context_turns ?? 0) as Digits,
  };
}

const stepOf = ({ groups, owner, after_s: after }: Policy["steps"][number]): Step => ({
  groups: groups ?? [],
  owner: owner ?? false,
  minutes: (after ?? 0) / 60,
});

type Fields = ReturnType<typeof fieldsOf>;
type Form = ReturnType<typeof useFields<Fields>>;

function bodyOf(fields: Fields) {
  const lives = { setting: null, never: 0, after: Number(fields.seconds) };
  return {
    name: fields.name.trim(),
    position: Number(fields.position),
    enabled: fields.enabled,
    applies_to: {
      agents: fields.agents,
      projects: fields.projects,
      tools: fields.tools,
      risks: fields.risks,
      owners: fields.owners,
    },
    steps: fields.steps.map((step) => ({
      groups: step.groups,
      owner: step.owner,
      after_s: Number(step.minutes) * 60,
    })),
    quorum: Number(fields.quorum),
    not_requester: fields.notRequester,
    expires_in_s: lives[fields.expiry as Expiry],
    context_turns: Number(fields.context),
  };
}

export function PolicyForm({ policy, ends }: { policy: Policy | null; ends: FormEnds }) {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const form = useFields(fieldsOf(policy));
  const { text, digits, tick } = form;
  return (
    <SaveForm
      {...ends}
      label={t(policy === null ? "common.create" : "common.save")}
      save={() =>
        policy === null
          ? data(api.POST("/api/v1/admin/approval-policies", { body: bodyOf(form.fields) }))
          : data(
              api.PATCH("/api/v1/admin/approval-policies/{policy_id}", {
                params: { path: { policy_id: policy.id }, header: ifMatch(policy.version) },
                body: bodyOf(form.fields),
              }),
            )
      }
    >
      <div className={css.form}>
        <TextInput
          data-autofocus
          label={t("field.name")}
          required
          maxLength={200}
          {...text("name")}
        />
        <NumberField
          label={a("policies.position")}
          description={a("policies.position.help")}
          required
          min={0}
          max={1_000_000}
          {...digits("position")}
        />
        <Switch label={t("sources.enabled")} {...tick("enabled")} />
      </div>
      <Selection form={form} />
      <Steps form={form} />
      <Conditions form={form} />
    </SaveForm>
  );
}

function Selection({ form }: { form: Form }) {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const { fields, put } = form;
  const proposed = useProposals();
  const risks = fields.risks;
  return (
    <fieldset className={css.step}>
      <legend>{a("policies.selects")}</legend>
      <p className={css.lead}>{a("policies.selects.lead")}</p>
      {(["agents", "projects", "tools", "owners"] as const).map((name) => (
        <AllOrSome
          key={name}
          label={a(`policies.${name}`)}
          {...(name === "tools" ? { description: a("policies.tools.help") } : {})}
          all={a("policies.all")}
          some={a("policies.some")}
          list={a("policies.one", { field: a(`policies.${name}`), values: "…" })}
          proposed={proposed[name]}
          value={fields[name]}
          onChange={(value) => put(name, value)}
        />
      ))}
      <div className={css.choice}>
        <NativeSelect
          label={a("policies.risks")}
          value={risks === null ? "all" : "some"}
          onChange={(event) => put("risks", event.currentTarget.value === "all" ? null : ["high"])}
          data={[
            { value: "all", label: a("policies.all") },
            { value: "some", label: a("policies.some") },
          ]}
        />
        {risks !== null && (
          <Checkbox.Group
            aria-label={a("policies.risks")}
            value={risks}
            onChange={(value) => put("risks", value as Risk[])}
          >
            <div className={css.ticks}>
              {RISKS.map((risk) => (
                <Checkbox key={risk} value={risk} label={t(`risk.${risk}`)} />
              ))}
            </div>
          </Checkbox.Group>
        )}
      </div>
    </fieldset>
  );
}

/** What can be chosen: agents that have a profile, projects, tools, and users who have tokens. */
function useProposals(): Record<"agents" | "projects" | "tools" | "owners", string[]> {
  const agents = useQuery({
    queryKey: ["admin", "agents", "all"],
    queryFn: () => data(api.GET("/api/v1/admin/agents", { params: { query: { limit: 100 } } })),
  });
  const projects = useQuery({
    queryKey: ["admin", "projects", "names"],
    queryFn: () => data(api.GET("/api/v1/admin/projects")),
  });
  const toolsets = useQuery({
    queryKey: ["admin", "toolsets"],
    queryFn: () => data(api.GET("/api/v1/admin/toolsets")),
  });
  const known = agents.data?.agents.map((agent) => agent.profile.id) ?? [];
  return {
    agents: [...new Set(["default", ...known])],
    projects: projects.data?.projects.map((project) => project.id) ?? [],
    tools: toolsets.data?.toolsets.flatMap((toolset) => toolset.tools).sort() ?? [],
    owners: useUsers(),
  };
}

/** IDs of the groups of approvers. */
export function useGroups(): string[] {
  const groups = useQuery({
    queryKey: ["admin", "approver-groups", "all"],
    queryFn: () =>
      data(api.GET("/api/v1/admin/approver-groups", { params: { query: { limit: 200 } } })),
  });
  return groups.data?.groups.map((group) => group.id) ?? [];
}

function Steps({ form }: { form: Form }) {
  const a = useTextsOf(approvers);
  const { steps } = form.fields;
  const groups = useGroups();
  const put = (next: Step[]) => form.put("steps", next);
  const change = (index: number, changed: Partial<Step>) =>
    put(steps.map((step, place) => (place === index ? { ...step, ...changed } : step)));
  const last = Number(steps.at(-1)?.minutes ?? 0);
  return (
    <fieldset className={css.plain}>
      <legend>{a("policies.steps")}</legend>
      <p className={css.lead}>{a("policies.steps.lead")}</p>
      {steps.map((step, index) => (
        <fieldset key={index} className={css.step}>
          <legend>{a("policies.step", { number: index + 1 })}</legend>
          {index > 0 && (
            <NumberInput
              label={a("policies.after")}
              required
              min={0}
              max={MOST_SECONDS / 60}
              hideControls
              value={step.minutes}
              onChange={(minutes) => change(index, { minutes })}
            />
          )}
          <TagsInput
            label={a("policies.groups")}
            data={groups}
            value={step.groups}
            onChange={(value) => change(index, { groups: value })}
            acceptValueOnBlur
          />
          <Switch
            label={a("policies.owner")}
            checked={step.owner}
            onChange={(event) => change(index, { owner: event.currentTarget.checked })}
          />
          {index > 0 && (
            <Button
              variant="default"
              size="compact-sm"
              className={css.fromStart ?? ""}
              onClick={() => put(steps.filter((_, place) => place !== index))}
            >
              {a("policies.drop_step", { number: index + 1 })}
            </Button>
          )}
        </fieldset>
      ))}
      {steps.length < MOST_STEPS && (
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => put([...steps, { ...FIRST, minutes: last + 15 }])}
        >
          {a("policies.add_step")}
        </Button>
      )}
    </fieldset>
  );
}

function Conditions({ form }: { form: Form }) {
  const a = useTextsOf(approvers);
  const { fields, text, digits, tick } = form;
  return (
    <fieldset className={css.step}>
      <legend>{a("policies.limits")}</legend>
      <div className={css.form}>
        <NumberField
          label={a("policies.quorum")}
          description={a("policies.quorum.help")}
          required
          min={1}
          max={10}
          {...digits("quorum")}
        />
        <NumberField
          label={a("policies.context")}
          description={a("policies.context.help")}
          required
          min={0}
          max={20}
          {...digits("context")}
        />
        <NativeSelect
          label={a("policies.expires")}
          {...text("expiry")}
          data={(["setting", "never", "after"] as const).map((value) => ({
            value,
            label: a(`policies.expires.${value}`),
          }))}
        />
        {fields.expiry === "after" && (
          <NumberField
            label={a("policies.seconds")}
            required
            min={1}
            max={MOST_SECONDS}
            {...digits("seconds")}
          />
        )}
        <Switch
          className={css.whole ?? ""}
          label={a("policies.not_requester")}
          {...tick("notRequester")}
        />
      </div>
    </fieldset>
  );
}
