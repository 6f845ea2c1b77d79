/** A profile as the fields of its form, and back as the change to send. */
import type { Schemas } from "../../api/client";
import { type Digits, numberOf, textOf } from "../parts/fields";

type Profile = Schemas["AgentProfile"];
type Change = Schemas["AgentChange"];

export const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;
export const FAMILIES = ["nanoclaw", "netaclaw", "jarvis", "countbot", "claude"] as const;
export const PARTS = [
  ...(["hints", "skills", "instructions", "listing"] as const),
  ...(["memory", "todo", "date"] as const),
];
export const LIMITS = [
  ...(["calls_per_minute", "concurrent", "calls_per_run"] as const),
  ...(["tokens_per_session", "cost_per_session"] as const),
];
export type Limit = (typeof LIMITS)[number];

const digits = (value: number | null | undefined): Digits => value ?? "";

export function fieldsOf(profile: Profile) {
  const inner = profile.subagents;
  return {
    title: profile.title ?? "",
    model: profile.model ?? "",
    prompt: profile.system_prompt ?? "",
    rounds: digits(profile.max_iterations),
    answer: digits(profile.max_tokens),
    context: digits(profile.context_tokens),
    temperature: digits(profile.temperature),
    budget: digits(profile.thinking_budget),
    adaptive: String(profile.adaptive_thinking ?? ""),
    effort: (profile.effort ?? "") as string,
    without: (profile.prompt_exclude ?? null) as string[] | null,
    selection: profile.selection ?? null,
    skills: profile.skills ?? null,
    aliases: (profile.aliases ?? "") as string,
    unattended: (profile.unattended ?? "") as string,
    visible: digits(profile.max_visible_tools),
    supervisor: profile.supervisor ?? "",
    stronger: profile.stronger_model ?? "",
    limits: Object.fromEntries(LIMITS.map((name) => [name, digits(profile.limits?.[name])])) as {
      [name in Limit]: Digits;
    },
    innerSelection: inner?.selection ?? null,
    innerAgents: inner?.agents ?? [],
    innerDepth: digits(inner?.max_depth),
    innerRounds: digits(inner?.max_iterations),
    readOnly: inner?.read_only ?? false,
    noShell: inner?.no_shell ?? false,
  };
}

export type AgentFields = ReturnType<typeof fieldsOf>;

/** Every field: what is empty goes back to the service's own value. */
export function changeOf(fields: AgentFields): Change {
  return {
    title: fields.title.trim(),
    model: textOf(fields.model),
    system_prompt: fields.prompt.trim() === "" ? null : fields.prompt,
    max_iterations: numberOf(fields.rounds),
    max_tokens: numberOf(fields.answer),
    context_tokens: numberOf(fields.context),
    temperature: numberOf(fields.temperature),
    thinking_budget: numberOf(fields.budget),
    adaptive_thinking: fields.adaptive === "" ? null : fields.adaptive === "true",
    effort: (textOf(fields.effort) as Change["effort"]) ?? null,
    prompt_exclude: fields.without as NonNullable<Change["prompt_exclude"]> | null,
    selection: fields.selection,
    skills: fields.skills,
    aliases: (textOf(fields.aliases) as Change["aliases"]) ?? null,
    unattended: (textOf(fields.unattended) as Change["unattended"]) ?? null,
    max_visible_tools: numberOf(fields.visible),
    supervisor: textOf(fields.supervisor),
    stronger_model: textOf(fields.stronger),
    limits: Object.fromEntries(
      LIMITS.filter((name) => fields.limits[name] !== "").map((name) => [
        name,
        Number(fields.limits[name]),
      ]),
    ),
    subagents: {
      selection: fields.innerSelection,
      agents: fields.innerAgents,
      max_depth: numberOf(fields.innerDepth),
      max_iterations: numberOf(fields.innerRounds),
      read_only: fields.readOnly,
      no_shell: fields.noShell,
    },
  };
}
