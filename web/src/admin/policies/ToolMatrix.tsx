/** Every tool for every agent: what follows from the catalog, the switches and the profile. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useMemo, useState } from "react";
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
  const states = useQuery({
    queryKey: ["admin", "tool-states"],
    queryFn: () =>
      data(api.GET("/api/v1/admin/tool-states", { params: { query: { limit: 100 } } })),
  });
  const tables = useMemo(
    () =>
      new Map(
        states.data?.agents.map((agent) => [
          agent.agent_id,
          new Map(agent.tools.map((tool) => [tool.name, tool])),
        ]),
      ),
    [states.data],
  );
  const columns = useMemo(
    () => [
      {
        head: t("tools.tool"),
        cell: (name: string) => (
          <Link className={`${css.link} mono`} to={`/admin/tools/tool/${name}`}>
            {name}
          </Link>
        ),
      },
      ...agents.map((agent) => ({
        head: agent.profile.title || agent.profile.id,
        cell: (name: string) => (
          <Cell agent={agent} name={name} tool={tables.get(agent.profile.id)?.get(name)} />
        ),
      })),
    ],
    [agents, tables, t],
  );
  return (
    <Loaded query={states}>
      {({ agents: [first] }) => (
        <Table
          label={t("tools.tab.agents")}
          rows={(first?.tools ?? []).map((tool) => tool.name).filter((n) => n.includes(wanted))}
          id={(name) => name}
          empty={t("filter.nothing")}
          columns={columns}
          virtual
        />
      )}
    </Loaded>
  );
}

interface CellProps {
  agent: AgentView;
  name: string;
  tool: Schemas["ToolStateView"] | undefined;
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
