/** What the pages of tools share: their tabs, the colour of a state, the switch of a tool. */
import { Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ApiError, api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { notifyError } from "../../shell/notify";
import type { PillTone } from "../parts/Bits";
import { ifMatch } from "../parts/pages";
import { Tabs } from "../parts/Tabs";

export type AdminTool = Schemas["AdminTool"];

export function ToolTabs() {
  const { t } = useTexts();
  return (
    <Tabs
      label={t("admin.tools")}
      tabs={[
        { to: "/admin/tools", label: t("tools.tab.catalog") },
        { to: "/admin/tools/agents", label: t("tools.tab.agents") },
        { to: "/admin/tools/switches", label: t("tools.tab.switches") },
      ]}
    />
  );
}

export const stateTone = (state: string): PillTone =>
  state === "on" ? "ok" : state === "asks" ? "warn" : "quiet";

/** The switch for everyone. It moves with the answer, so it always shows the stored value. */
export function OnSwitch({ tool }: { tool: AdminTool }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      data(
        api.PATCH("/api/v1/admin/tools/{name}", {
          params: { path: { name: tool.name }, header: ifMatch(tool.version) },
          body: { enabled },
        }),
      ),
    onError: (reason) => {
      // The list is loaded again and shows the other change.
      notifyError(
        reason instanceof ApiError && reason.status === 412
          ? new ApiError({ code: "switched_meanwhile" }, 412)
          : reason,
      );
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  return (
    <Switch
      aria-label={t("tools.switch", { tool: tool.name })}
      checked={change.isPending ? change.variables : tool.choices.enabled}
      disabled={change.isPending || !tool.present}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  );
}
