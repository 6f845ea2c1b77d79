/** Tools: what there is, what is on and why not, for everybody and for each agent. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useState } from "react";
import { Link, Route } from "react-router";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { groupSaid, toolAbout } from "../../i18n/toolWords";
import { Sections } from "../../shell/Sections";
import { Foreign, Pill } from "../parts/Bits";
import { Loaded, More, Page, word } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { type AdminTool, OnSwitch, stateTone, ToolTabs } from "./ToolControls";
import { ToolMatrix } from "./ToolMatrix";
import { ToolPage } from "./ToolPage";
import { ToolSwitches } from "./ToolSwitches";
import { whyOff } from "./toolReasons";

type State = "on" | "asks" | "off" | "absent";

export default function ToolsPage() {
  return (
    <Sections>
      <Route index element={<Catalog />} />
      <Route path="agents" element={<ToolMatrix />} />
      <Route path="switches" element={<ToolSwitches />} />
      <Route path="tool/:name" element={<ToolPage />} />
    </Sections>
  );
}

function Catalog() {
  const { t, language } = useTexts();
  const [typed, setTyped] = useState("");
  const [q] = useDebouncedValue(typed.trim(), 200);
  const [state, setState] = useState("");
  const [toolset, setToolset] = useState("");
  const toolsets = useQuery({
    queryKey: ["admin", "toolsets"],
    queryFn: () => data(api.GET("/api/v1/admin/toolsets")),
  });
  const tools = usePages(["tools", q, state, toolset], async (after) => {
    const query = {
      limit: 100,
      ...(q === "" ? {} : { q }),
      ...(state === "" ? {} : { state: state as State }),
      ...(toolset === "" ? {} : { toolset }),
      ...(after === undefined ? {} : { after: String(after) }),
    };
    const page = await data(api.GET("/api/v1/admin/tools", { params: { query } }));
    return { rows: page.tools, next: page.next_after, total: page.total };
  });
  return (
    <Page title={t("admin.tools")} lead={t("tools.lead")}>
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
        <NativeSelect
          label={t("tools.state")}
          value={state}
          onChange={(event) => setState(event.currentTarget.value)}
          data={[
            { value: "", label: t("filter.all") },
            ...(["on", "asks", "off", "absent"] as const).map((value) => ({
              value,
              label: t(`tools.state.${value}`),
            })),
          ]}
        />
        <NativeSelect
          label={t("tools.toolset")}
          value={toolset}
          onChange={(event) => setToolset(event.currentTarget.value)}
          data={[
            { value: "", label: t("filter.all") },
            ...(toolsets.data?.toolsets ?? []).map((one) => ({
              value: one.name,
              label: groupSaid(language, one.name),
            })),
          ]}
        />
      </div>
      <Loaded query={tools}>
        {(rows) => (
          <Table
            label={t("admin.tools")}
            rows={rows}
            id={(tool) => tool.name}
            empty={t("filter.nothing")}
            columns={[
              { head: t("tools.on"), cell: (tool) => <OnSwitch tool={tool} /> },
              { head: t("tools.tool"), wide: true, cell: (tool) => <Named tool={tool} /> },
              { head: t("tools.state"), cell: (tool) => <Standing tool={tool} /> },
              {
                head: t("tools.toolset"),
                cell: (tool) => <Foreign>{groupSaid(language, tool.toolset ?? "")}</Foreign>,
              },
              {
                head: t("tools.permission"),
                cell: (tool) => word(t, "tools.permission", tool.permission_class ?? ""),
              },
              {
                head: t("tools.tokens"),
                end: true,
                cell: (tool) => tool.effective.tokens ?? "–",
              },
            ]}
          />
        )}
      </Loaded>
      <More query={tools} />
    </Page>
  );
}

function Named({ tool }: { tool: AdminTool }) {
  const { language } = useTexts();
  return (
    <>
      <Link
        className={`${css.link} mono`}
        to={`/admin/tools/tool/${encodeURIComponent(tool.name)}`}
      >
        {tool.name}
      </Link>
      <span className={`${css.under} foreign`}>
        {toolAbout(language, tool.name, tool.description ?? "")}
      </span>
    </>
  );
}

function Standing({ tool }: { tool: AdminTool }) {
  const { t, language } = useTexts();
  const state = tool.present ? tool.effective.state : "absent";
  const why = whyOff(tool.effective, { t, language });
  return (
    <>
      <Pill tone={stateTone(state)}>{t(`tools.state.${state}`)}</Pill>
      {why !== null && <span className={`${css.under} foreign`}>{why}</span>}
    </>
  );
}
