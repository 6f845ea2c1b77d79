/** Tools by what they have in common, and what switching a group would change. */
import type { Schemas } from "../../api/client";

type Tool = Schemas["AdminTool"];
export type GroupedBy = "toolset" | "category" | "source";

export interface ToolGroup {
  /** "" holds those that have none. */
  name: string;
  tools: readonly Tool[];
}

/** Those that the catalog holds now, by name of the group. */
export function groupsOf(tools: readonly Tool[], by: GroupedBy): ToolGroup[] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools.filter((one) => one.present)) {
    const name = tool[by] ?? "";
    groups.set(name, [...(groups.get(name) ?? []), tool]);
  }
  return [...groups]
    .map(([name, members]) => ({ name, tools: members }))
    .sort((one, other) => one.name.localeCompare(other.name));
}

export interface Switching {
  changed: readonly string[];
  unchanged: readonly string[];
  /** Core tools among those that would go off. */
  core: readonly string[];
}

/** What would come of switching all of them. */
export function switching(tools: readonly Tool[], enabled: boolean): Switching {
  const changed = tools.filter((tool) => tool.choices.enabled !== enabled);
  return {
    changed: changed.map((tool) => tool.name),
    unchanged: tools.filter((tool) => !changed.includes(tool)).map((tool) => tool.name),
    core: enabled ? [] : changed.filter((tool) => tool.effective.core).map((tool) => tool.name),
  };
}
