/** Whole groups of tools on or off; what would change is seen first. */
import { Button, Checkbox, Modal, SegmentedControl } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { groupSaid } from "../../i18n/toolWords";
import { ErrorView } from "../../shell/ErrorView";
import { notifyDone } from "../../shell/notify";
import { Chips, Foreign, Pill } from "../parts/Bits";
import { OnOff } from "../parts/OnOff";
import { Loaded, Page } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { ToolTabs } from "./ToolControls";
import { type GroupedBy, groupsOf, switching, type ToolGroup } from "./toolGroups";

const WAYS: readonly GroupedBy[] = ["toolset", "category", "source"];

async function allTools(): Promise<Schemas["AdminTool"][]> {
  const found: Schemas["AdminTool"][] = [];
  let after: string | null = null;
  do {
    const query: { limit: number; after?: string } = { limit: 500, ...(after ? { after } : {}) };
    const page: Schemas["AdminToolPage"] = await data(
      api.GET("/api/v1/admin/tools", { params: { query } }),
    );
    found.push(...page.tools);
    after = page.next_after ?? null;
  } while (after !== null);
  return found;
}

export function ToolSwitches() {
  const { t } = useTexts();
  const [by, setBy] = useState<GroupedBy>("toolset");
  const tools = useQuery({ queryKey: ["admin", "tools", "whole"], queryFn: allTools });
  const toolsets = useQuery({
    queryKey: ["admin", "toolsets"],
    queryFn: () => data(api.GET("/api/v1/admin/toolsets")),
  });
  const setOf = (name: string) =>
    by === "toolset" ? toolsets.data?.toolsets.find((one) => one.name === name) : undefined;
  return (
    <Page title={t("admin.tools")} lead={t("switches.lead")}>
      <ToolTabs />
      <div className={css.bar}>
        <SegmentedControl
          size="xs"
          aria-label={t("switches.by")}
          value={by}
          onChange={(value) => setBy(value as GroupedBy)}
          data={WAYS.map((value) => ({ value, label: t(`switches.by.${value}`) }))}
        />
      </div>
      <Loaded query={tools}>
        {(found) => (
          <Table
            label={t("tools.tab.switches")}
            rows={groupsOf(found, by)}
            id={(group) => group.name}
            empty={t("filter.nothing")}
            columns={[
              {
                head: t("switches.group"),
                wide: true,
                cell: (group) => (
                  <Group group={group} by={by} isOff={setOf(group.name)?.enabled === false} />
                ),
              },
              {
                head: t("switches.count"),
                end: true,
                cell: ({ tools: members }) =>
                  t("switches.of", {
                    on: members.filter((tool) => tool.effective.state !== "off").length,
                    all: members.length,
                  }),
              },
              ...(by === "toolset"
                ? [
                    {
                      head: t("switches.toolset"),
                      cell: (group: ToolGroup) => <SetSwitch set={setOf(group.name)} />,
                    },
                  ]
                : []),
              {
                head: t("field.actions"),
                cell: (group) => (
                  <div className={css.actions}>
                    <SwitchAll group={group} enabled />
                    <SwitchAll group={group} enabled={false} />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}

function Group({ group, by, isOff }: { group: ToolGroup; by: GroupedBy; isOff: boolean }) {
  const { t, language } = useTexts();
  const name = by === "source" ? group.name : groupSaid(language, group.name);
  return (
    <>
      <Foreign>{name || t("switches.other")}</Foreign>
      <span className={css.under}>
        <Foreign>{group.tools.map((tool) => tool.name).join(", ")}</Foreign>
      </span>
      {isOff && (
        <span className={css.under}>
          <Pill tone="warn">{t("tools.state.off")}</Pill> {t("switches.toolset_off")}
        </span>
      )}
    </>
  );
}

/** The switch of the toolset itself: its tools keep theirs. */
function SetSwitch({ set }: { set: Schemas["ToolsetView"] | undefined }) {
  const { t } = useTexts();
  if (set === undefined) return null;
  return (
    <OnOff
      label={t("switches.toolset.switch", { name: set.name })}
      on={set.enabled}
      change={(enabled) =>
        data(
          api.PATCH("/api/v1/admin/toolsets/{name}", {
            params: { path: { name: set.name }, header: ifMatch(set.version) },
            body: { enabled },
          }),
        )
      }
    />
  );
}

function SwitchAll({ group, enabled }: { group: ToolGroup; enabled: boolean }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [force, setForce] = useState(false);
  const name = group.name || t("switches.other");
  const { changed, unchanged, core } = switching(group.tools, enabled);
  const label = t(enabled ? "switches.on" : "switches.off");
  const turn = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/tools/switch", {
          body: { names: [...changed], enabled, ...(core.length > 0 ? { force } : {}) },
        }),
      ),
    onSuccess: (done) => {
      setOpen(false);
      notifyDone(t("switches.done", { count: done.changed.length }));
      void queries.invalidateQueries({ queryKey: ["admin"] });
    },
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`${label} ${name}`}
        onClick={() => {
          turn.reset();
          setForce(false);
          setOpen(true);
        }}
      >
        {label}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={t(enabled ? "switches.title.on" : "switches.title.off", { group: name })}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <div className={css.stack}>
          <div className={css.stack} data-testid="would-change">
            <p className={css.note}>
              {changed.length === 0
                ? t("switches.same")
                : t("switches.change", { count: changed.length })}
            </p>
            {changed.length > 0 && <Chips values={changed} />}
          </div>
          {changed.length > 0 && unchanged.length > 0 && (
            <p className={css.quiet}>{t("switches.stay", { count: unchanged.length })}</p>
          )}
          {core.length > 0 && (
            <Checkbox
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
              label={t("switches.core", { names: core.join(", ") })}
            />
          )}
          {turn.error !== null && <ErrorView error={asApiError(turn.error)} compact />}
        </div>
        <div className={css.formFoot}>
          <Button variant="default" onClick={() => setOpen(false)}>
            {t("common.cancel")}
          </Button>
          <Button
            disabled={changed.length === 0 || (core.length > 0 && !force)}
            loading={turn.isPending}
            onClick={() => turn.mutate()}
          >
            {label.replace(/\s*…$/, "")}
          </Button>
        </div>
      </Modal>
    </>
  );
}
