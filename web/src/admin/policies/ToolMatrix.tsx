/** Every tool for every agent: what follows from the catalog, the switches and the profile. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { notifyError } from "../../shell/notify";
import { Pill } from "../parts/Bits";
import { Empty, Loaded, Page } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { stateTone, ToolTabs } from "./ToolControls";
import { whyOff } from "./toolReasons";

type AgentView = Schemas["AgentView"];
type Chosen = "on" | "off" | "ask";

export function ToolMatrix() {
  const { t } = useTexts();
  const [typed, setTyped] = useState("");
  const agents = useQuery({
    queryKey: ["admin", "agents", "all"],
    queryFn: () => data(api.GET("/api/v1/admin/agents", { params: { query: { limit: 100 } } })),
  });
  return (
    <Page title={t("admin.tools")} lead={t("matrix.lead")}>
      <ToolTabs />
      <div className={css.bar}>
        <TextInput
          className={css.grow ?? ""}
          label={t("common.search")}
          placeholder={t("tools.search")}
          leftSection={<Search size={15} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
      <Loaded query={agents}>
        {({ agents: found }) =>
          found.length === 0 ? (
            <Empty>
              {t("matrix.empty")}{" "}
              <Link className={css.link} to="/admin/agents">
                {t("admin.agents")}
              </Link>
            </Empty>
          ) : (
            <Matrix agents={found} wanted={typed.trim().toLowerCase()} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Matrix({ agents, wanted }: { agents: readonly AgentView[]; wanted: string }) {
  const { t } = useTexts();
  const resolved = useQueries({
    queries: agents.map(({ profile }) => ({
      queryKey: ["admin", "resolve", profile.id],
      queryFn: () =>
        data(api.GET("/api/v1/admin/toolset", { params: { query: { agent_id: profile.id } } })),
    })),
  });
  const tables = resolved.map(
    (query) => new Map(query.data?.runtime_diagnostic.tools.map((tool) => [tool.name, tool])),
  );
  const whole = {
    data: resolved.every((query) => query.data !== undefined)
      ? [...(tables[0]?.keys() ?? [])].filter((name) => name.includes(wanted))
      : undefined,
    error: resolved.find((query) => query.error !== null)?.error ?? null,
    refetch: () => Promise.all(resolved.map((query) => query.refetch())),
  };
  return (
    <Loaded query={whole}>
      {(names) => (
        <Table
          label={t("tools.tab.agents")}
          rows={names}
          id={(name) => name}
          empty={t("filter.nothing")}
          columns={[
            {
              head: t("tools.tool"),
              cell: (name) => (
                <Link className={`${css.link} mono`} to={`/admin/tools/tool/${name}`}>
                  {name}
                </Link>
              ),
            },
            ...agents.map((agent, index) => ({
              head: agent.profile.title || agent.profile.id,
              cell: (name: string) => (
                <Cell agent={agent} name={name} tool={tables[index]?.get(name)} />
              ),
            })),
          ]}
        />
      )}
    </Loaded>
  );
}

interface CellProps {
  agent: AgentView;
  name: string;
  tool: Schemas["Diagnostic"] | undefined;
  onSaved?: (changed: AgentView) => void;
}

/** What the agent's own profile says about a tool. */
export const ownChoice = (agent: AgentView, name: string): Schemas["AgentTool"] | undefined =>
  (agent.profile.tools as Record<string, Schemas["AgentTool"]> | undefined)?.[name];

export function Cell({ agent, name, tool, onSaved }: CellProps) {
  const { t, language } = useTexts();
  const queries = useQueryClient();
  const own = ownChoice(agent, name);
  const change = useMutation({
    mutationFn: (state: Chosen | null) =>
      data(
        api.PUT("/api/v1/admin/agents/{agent_id}/tools/{name}", {
          params: {
            path: { agent_id: agent.profile.id, name },
            header: ifMatch(agent.version),
          },
          body: { state, ...(own?.hint == null ? {} : { hint: own.hint }) },
        }),
      ),
    onSuccess: onSaved,
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  if (tool === undefined) return <span className={css.quiet}>–</span>;
  return (
    <div style={{ display: "flex", gap: 8, alignItems: "center", minWidth: 210 }}>
      <NativeSelect
        size="xs"
        aria-label={t("matrix.cell", { tool: name, agent: agent.profile.id })}
        disabled={change.isPending}
        value={own?.state ?? ""}
        onChange={(event) => {
          const state = event.currentTarget.value;
          change.mutate(state === "" ? null : (state as Chosen));
        }}
        data={[
          { value: "", label: t("matrix.inherits") },
          { value: "on", label: t("tools.state.on") },
          { value: "ask", label: t("tools.state.asks") },
          { value: "off", label: t("tools.state.off") },
        ]}
      />
      <span title={whyOff(tool, { t, language }) ?? undefined}>
        <Pill tone={stateTone(tool.state)}>{t(`tools.state.${tool.state}`)}</Pill>
      </span>
    </div>
  );
}
