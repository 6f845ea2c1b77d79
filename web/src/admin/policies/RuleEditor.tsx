/** A rule as JSON: held against past calls before it is stored. */
import { Button, NativeSelect, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation, useNavigate, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { parseObject } from "../../chat/ConfirmationCard";
import { asApiError } from "../../events/sessionStore";
import { type Translate, useTexts } from "../../i18n";
import { ruleWarning } from "../../i18n/ruleWarnings";
import { asText, isObject, text } from "../../renderers/data";
import { ErrorView } from "../../shell/ErrorView";
import { Lines } from "../../shell/Said";
import { AskFirst } from "../parts/AskFirst";
import { Figure, Foreign, Pill } from "../parts/Bits";
import { Loaded, Page, Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { type Definition, definitionOf, VERDICT_TONE } from "./ruleWords";

const draft = (t: Translate): Definition => ({
  tool: "bash",
  match: { argv: ["git", "push", "..."] },
  decision: "ask",
  justification: t("rules.draft.why"),
  examples: { match: ["git push origin main"], not_match: ["git pull"] },
});

export function RuleEditor() {
  const { t } = useTexts();
  const { id } = useParams();
  const state: unknown = useLocation().state;
  const proposed =
    isObject(state) && isObject(state.proposal)
      ? (state.proposal as unknown as Definition)
      : draft(t);
  const rule = useQuery({
    queryKey: ["admin", "rule", id],
    enabled: id !== undefined,
    queryFn: () =>
      data(api.GET("/api/v1/admin/rules/{rule_id}", { params: { path: { rule_id: id ?? "" } } })),
  });
  return (
    <Page
      back={{ to: "/admin/rules", label: t("admin.rules") }}
      title={id === undefined ? t("rules.new") : t("rules.edit")}
      lead={t("rules.edit.lead")}
    >
      {id === undefined ? (
        <Editor definition={proposed} stored={null} />
      ) : (
        <Loaded query={rule}>
          {(found) => (
            <Editor key={found.version} definition={definitionOf(found)} stored={found} />
          )}
        </Loaded>
      )}
    </Page>
  );
}

interface EditorProps {
  definition: Definition;
  stored: Schemas["RuleView"] | null;
}

function Editor({ definition, stored }: EditorProps) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const go = useNavigate();
  const [tool, setTool] = useState(definition.tool);
  const [decision, setDecision] = useState(definition.decision);
  const [why, setWhy] = useState(definition.justification ?? "");
  const [match, setMatch] = useState(asText(definition.match ?? {}));
  const [examples, setExamples] = useState(asText(definition.examples ?? {}));
  const [enabled, setEnabled] = useState(definition.enabled !== false);
  const fromFile = stored?.source === "file";
  const conditions = parseObject(match);
  const tried = parseObject(examples);
  const whole: Definition | null =
    conditions === null || tried === null || tool.trim() === ""
      ? null
      : {
          ...definition,
          tool: tool.trim(),
          match: conditions as Definition["match"],
          decision,
          examples: tried as Definition["examples"],
          ...(why.trim() === "" ? {} : { justification: why.trim() }),
          enabled,
        };
  const save = useMutation({
    mutationFn: (body: Definition) =>
      stored === null
        ? data(api.POST("/api/v1/admin/rules", { body }))
        : data(
            api.PATCH("/api/v1/admin/rules/{rule_id}", {
              params: { path: { rule_id: stored.id }, header: ifMatch(stored.version) },
              body,
            }),
          ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["admin"] });
      void go("/admin/rules");
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (whole !== null) save.mutate(whole);
  }
  return (
    <>
      <Section title={t("rules.definition")}>
        {fromFile && <p className={css.note}>{t("rules.from_file")}</p>}
        <form className={`${css.form} ${css.two}`} onSubmit={submit}>
          <TextInput
            label={t("tools.tool")}
            description={t("rules.tool.help")}
            required
            value={tool}
            onChange={(event) => setTool(event.currentTarget.value)}
          />
          <NativeSelect
            label={t("rules.decision")}
            description={t("rules.decision.help")}
            value={decision}
            onChange={(event) => setDecision(event.currentTarget.value as Definition["decision"])}
            data={(["allow", "ask", "deny"] as const).map((value) => ({
              value,
              label: t(`verdict.${value}`),
            }))}
          />
          <Textarea
            label={t("rules.match")}
            description={t("rules.match.help")}
            classNames={{ input: "mono" }}
            autosize
            minRows={5}
            maxRows={18}
            spellCheck={false}
            error={conditions === null ? t("form.not_json") : undefined}
            value={match}
            onChange={(event) => setMatch(event.currentTarget.value)}
          />
          <Textarea
            label={t("rules.examples")}
            description={t("rules.examples.help")}
            classNames={{ input: "mono" }}
            autosize
            minRows={5}
            maxRows={18}
            spellCheck={false}
            error={tried === null ? t("form.not_json") : undefined}
            value={examples}
            onChange={(event) => setExamples(event.currentTarget.value)}
          />
          <Textarea
            className={css.whole ?? ""}
            label={t("rules.why")}
            description={t("rules.why.help")}
            autosize
            minRows={1}
            value={why}
            onChange={(event) => setWhy(event.currentTarget.value)}
          />
          <NativeSelect
            label={t("rules.state")}
            value={String(enabled)}
            onChange={(event) => setEnabled(event.currentTarget.value === "true")}
            data={[
              { value: "true", label: t("rules.state.active") },
              { value: "false", label: t("rules.state.disabled") },
            ]}
          />
          {save.error !== null && (
            <div className={css.whole}>
              <ErrorView error={asApiError(save.error)} />
            </div>
          )}
          {!fromFile && (
            <div className={css.formFoot}>
              {stored !== null && (
                <AskFirst
                  label={t("common.delete")}
                  size="sm"
                  what={t("rules.delete.what")}
                  act={() =>
                    data(
                      api.DELETE("/api/v1/admin/rules/{rule_id}", {
                        params: { path: { rule_id: stored.id }, header: ifMatch(stored.version) },
                      }),
                    )
                  }
                  onDone={() => {
                    void queries.invalidateQueries({ queryKey: ["admin", "rules"] });
                    void go("/admin/rules");
                  }}
                />
              )}
              <Button type="submit" disabled={whole === null} loading={save.isPending}>
                {t("common.save")}
              </Button>
            </div>
          )}
        </form>
      </Section>
      <DryRun definition={whole} insteadOf={stored?.id} />
    </>
  );
}

interface DryRunProps {
  definition: Definition | null;
  insteadOf: string | undefined;
}

function DryRun({ definition, insteadOf }: DryRunProps) {
  const { t } = useTexts();
  const [last, setLast] = useState<string | number>(500);
  const run = useMutation({
    mutationFn: (body: Definition) =>
      data(
        api.POST("/api/v1/admin/rules/dry-run", {
          body: {
            definition: body,
            last: Number(last) || 500,
            ...(insteadOf === undefined ? {} : { instead_of: insteadOf }),
          },
        }),
      ),
  });
  return (
    <Section
      title={t("dry.title")}
      lead={t("dry.lead")}
      actions={
        <>
          <NumberInput
            aria-label={t("dry.last")}
            w={120}
            min={1}
            max={2000}
            allowDecimal={false}
            suffix={t("dry.calls")}
            value={last}
            onChange={setLast}
          />
          <Button
            variant="default"
            disabled={definition === null}
            loading={run.isPending}
            onClick={() => definition !== null && run.mutate(definition)}
          >
            {t("dry.run")}
          </Button>
        </>
      }
    >
      {run.error !== null && <ErrorView error={asApiError(run.error)} />}
      {run.data !== undefined && <DryRunView result={run.data} />}
    </Section>
  );
}

function DryRunView({ result }: { result: Schemas["DryRunResult"] }) {
  const { t, language } = useTexts();
  return (
    <div className={css.stack} role="status" data-testid="dry-run">
      <div className={css.figures} style={{ marginBottom: 0 }}>
        <Figure name={t("dry.judged")} value={result.judged} />
        <Figure name={t("dry.matched")} value={result.matched} />
        <Figure
          name={t("dry.changed")}
          value={result.changes.reduce((sum, change) => sum + change.calls, 0)}
        />
        <Figure name={t("dry.unknown")} value={result.not_judged + result.unknowable} />
      </div>
      {result.warnings.map((warning, index) => (
        <p key={index} className={css.note} data-tone="warn">
          <Lines {...ruleWarning(language, warning.code ?? "", warning.message ?? "")} />
        </p>
      ))}
      {result.changes.length === 0 && <p className={css.note}>{t("dry.same")}</p>}
      {result.changes.map((change) => (
        <div key={`${change.before}-${change.after}`} className={css.stack}>
          <p style={{ margin: 0, display: "flex", gap: 8, alignItems: "center" }}>
            <Verdict value={change.before} /> <span aria-hidden>→</span>
            <Verdict value={change.after} />
            <span className={css.quiet}>{t("dry.change", { count: change.calls })}</span>
          </p>
          <pre className={`${css.block} foreign`}>
            {change.examples.map(exampleLine).join("\n")}
          </pre>
        </div>
      ))}
    </div>
  );
}

function Verdict({ value }: { value: string }) {
  const { t } = useTexts();
  const known = value === "allow" || value === "ask" || value === "deny";
  return (
    <Pill tone={VERDICT_TONE[value] ?? "quiet"}>
      {known ? t(`verdict.${value}`) : <Foreign>{value}</Foreign>}
    </Pill>
  );
}

function exampleLine(example: Record<string, unknown>): string {
  const args = isObject(example.arguments) ? example.arguments : {};
  const words = text(args.command) || JSON.stringify(args);
  return `${text(example.tool_name)}  ${words}`;
}
