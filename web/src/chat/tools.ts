/** The tools of the catalog, as slash commands. */
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../api/client";
import type { Language } from "../i18n";
import { toolAbout } from "../i18n/toolWords";
import { isObject, text } from "../renderers/data";

export interface ToolRow {
  name: string;
  description: string;
  category: string;
  parameters: unknown;
  enabled: boolean;
}

export function useTools(wanted: boolean) {
  return useQuery({
    queryKey: ["tools"],
    enabled: wanted,
    staleTime: 30_000,
    queryFn: async (): Promise<ToolRow[]> => {
      const list = await data(
        api.GET("/api/v1/tools", { params: { query: { format: "native" } } }),
      );
      return list.tools
        .filter((row) => isObject(row) && row.alias_of == null && row.enabled === true)
        .map((row) => ({
          name: text(row.name),
          description: text(row.description),
          category: text(row.category),
          parameters: row.parameters,
          enabled: true,
        }));
    },
  });
}

/** Tools that fit what was typed: names that begin with it, then names that hold it, then words. */
export function matching(tools: readonly ToolRow[], typed: string, language: Language): ToolRow[] {
  const wanted = typed.toLowerCase();
  const rank = (tool: ToolRow) => {
    if (tool.name.startsWith(wanted)) return 0;
    if (tool.name.includes(wanted)) return 1;
    const said = `${tool.description}\n${toolAbout(language, tool.name, "")}`;
    return said.toLowerCase().includes(wanted) ? 2 : 3;
  };
  return tools
    .map((tool) => ({ tool, rank: rank(tool) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank || a.tool.name.localeCompare(b.tool.name))
    .map((one) => one.tool);
}
