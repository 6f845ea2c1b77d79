/** One tool: what holds for it, what an operator may choose, and a call to try. */
import { Button, NativeSelect, NumberInput, Switch, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { groupSaid, toolAbout } from "../../i18n/toolWords";
import { ErrorView } from "../../shell/ErrorView";
import { useIdentity } from "../../shell/identity";
import { notifyDone } from "../../shell/notify";
import { Chips, Facts, Pill } from "../parts/Bits";
import { Loaded, Page, Section, word } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { type AdminTool, OnSwitch, stateTone } from "./ToolControls";
import { TryTool } from "./TryTool";
import { toldReason, whyOff } from "./toolReasons";

export function ToolPage() {
  const { t, language } = useTexts();
  const { may } = useIdentity();
  const name = useParams().name ?? "";
  const tool = useQuery({
    queryKey: ["admin", "tool", name],
    queryFn: () => data(api.GET("/api/v1/admin/tools/{name}", { params: { path: { name } } })),
  });
  // An address may have one of its other names.
  const own = tool.data?.name ?? name;
  return (
    <Page
      back={{ to: "/admin/tools", label: t("admin.tools") }}
      title={<span className="mono">{own}</span>}
      lead={toolAbout(language, own, tool.data?.description ?? "")}
      actions={tool.data !== undefined && <OnSwitch tool={tool.data} />}
    >
      <Loaded query={tool}>
        {(found) => (
          <>
            <Standing tool={found} />
            {may("tools:call") && (
              <TryTool name={found.name} on={found.effective.state !== "off"} />
            )}
            <Choosing key={found.version} tool={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Standing({ tool }: { tool: AdminTool }) {
  const { t, language } = useTexts();
  const { effective } = tool;
  const why = whyOff(effective, { t, language });
  const blocked = effective.runtime_blocked_reason;
  return (
    <Section title={t("tools.holds")}>
      {why !== null && (
        <p className={`${css.note} foreign`} data-tone={effective.state === "off" ? "bad" : "warn"}>
          {why}
        </p>
      )}
      <div style={{ height: why === null ? 0 : 14 }} />
      <Facts
        facts={[
          [
            t("tools.state"),
            <Pill key="state" tone={stateTone(effective.state)}>
              {t(`tools.state.${effective.state}`)}
            </Pill>,
          ],
          [t("tools.permission"), word(t, "tools.permission", tool.permission_class ?? "")],
          [t("tools.toolset"), groupSaid(language, tool.toolset ?? "")],
          [t("tools.shown"), t(`tools.shown.${effective.shown}`)],
          [t("tools.route"), word(t, "route", effective.route)],
          [
            t("tools.subagents"),
            effective.effective_subagent_allowed
              ? t("common.yes")
              : blocked === null
                ? t("common.no")
                : toldReason(blocked, tool.name, language),
          ],
          [t("tools.tokens"), effective.tokens ?? "–"],
          [t("tools.aliases"), <Chips key="aliases" values={tool.aliases} />],
        ]}
      />
    </Section>
  );
}

function Choosing({ tool }: { tool: AdminTool }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const { choices } = tool;
  const [hint, setHint] = useState(choices.prompt_hint ?? "");
  const [asks, setAsks] = useState(String(choices.requires_confirmation ?? ""));
  const [core, setCore] = useState(choices.is_core ?? tool.effective.core);
  const [timeout, setTimeout] = useState<number | string>(choices.timeout_s ?? "");
  const [output, setOutput] = useState<number | string>(choices.max_output_chars ?? "");
  const change = useMutation({
    mutationFn: (body: Schemas["ToolChange"]) =>
      data(
        api.PATCH("/api/v1/admin/tools/{name}", {
          params: { path: { name: tool.name }, header: ifMatch(tool.version) },
          body,
        }),
      ),
    onSuccess: () => {
      notifyDone(t("common.saved"));
      void queries.invalidateQueries({ queryKey: ["admin"] });
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate({
      prompt_hint: hint.trim() === "" ? null : hint.trim(),
      requires_confirmation: asks === "" ? null : asks === "true",
      timeout_s: timeout === "" ? null : Number(timeout),
      max_output_chars: output === "" ? null : Number(output),
      ...(core === tool.effective.core ? {} : { is_core: core }),
    });
  }

  return (
    <Section title={t("tools.choices")} lead={t("tools.choices.lead")}>
      <form className={css.form} onSubmit={submit}>
        <Textarea
          className={css.whole ?? ""}
          label={t("tools.hint")}
          description={t("tools.hint.help")}
          autosize
          minRows={2}
          maxLength={2000}
          value={hint}
          onChange={(event) => setHint(event.currentTarget.value)}
        />
        <NativeSelect
          label={t("tools.confirms")}
          value={asks}
          onChange={(event) => setAsks(event.currentTarget.value)}
          data={[
            { value: "", label: t("tools.confirms.tool") },
            { value: "true", label: t("tools.confirms.always") },
            { value: "false", label: t("tools.confirms.rules") },
          ]}
        />
        <NumberInput
          label={t("tools.timeout")}
          placeholder={String(tool.effective.timeout_s ?? t("tools.unset"))}
          min={0.1}
          hideControls
          value={timeout}
          onChange={setTimeout}
        />
        <NumberInput
          label={t("tools.output")}
          placeholder={String(tool.effective.max_output_chars ?? t("tools.unset"))}
          min={1}
          allowDecimal={false}
          hideControls
          value={output}
          onChange={setOutput}
        />
        <Switch
          className={css.whole ?? ""}
          label={t("tools.core")}
          description={t("tools.core.help")}
          checked={core}
          onChange={(event) => setCore(event.currentTarget.checked)}
        />
        {change.error !== null && (
          <div className={css.whole}>
            <ErrorView
              error={asApiError(change.error)}
              onRetry={() => void queries.invalidateQueries({ queryKey: ["admin"] })}
            />
          </div>
        )}
        <div className={css.formFoot}>
          <Button type="submit" loading={change.isPending}>
            {t("common.save")}
          </Button>
        </div>
      </form>
    </Section>
  );
}
