/** Rules: what may run, what asks, what never runs; and the risk of a command explained. */
import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, lazy, useState } from "react";
import { Link, Route, Routes } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts, useTextsOf } from "../../i18n";
import { ruleWarning } from "../../i18n/ruleWarnings";
import { builder } from "../../i18n/texts/builder";
import { asText } from "../../renderers/data";
import { useNow } from "../../shared/useNow";
import { ErrorView } from "../../shell/ErrorView";
import { Coded, Lines } from "../../shell/Said";
import { Sections } from "../../shell/Sections";
import { Figure, Foreign, Pill, When } from "../parts/Bits";
import { Loaded, More, Page, Section } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { RuleName, ruleLine } from "./builder/RuleName";
import { Expiry, ScopeName } from "./builder/ScopeName";
import { PromptBudget, useAnswerColumns } from "./PromptBudget";
import { Explained } from "./RiskView";
import { definitionOf, VERDICT_TONE } from "./ruleWords";

const RuleBuilder = lazy(() => import("./builder/RuleBuilder"));

type Rule = Schemas["RuleView"];

export default function RulesPage() {
  const { t } = useTexts();
  return (
    <Routes>
      <Route path="new" element={<RuleBuilder />} />
      <Route path="rule/:id" element={<RuleBuilder />} />
      <Route
        path="*"
        element={
          <Page
            title={t("admin.rules")}
            lead={t("rules.lead")}
            actions={
              <Button
                component={Link}
                to="/admin/rules/new"
                leftSection={<Plus size={15} aria-hidden />}
              >
                {t("rules.new")}
              </Button>
            }
          >
            <Tabs
              label={t("admin.rules")}
              tabs={[
                { to: "/admin/rules", label: t("rules.tab.list") },
                { to: "/admin/rules/explain", label: t("rules.tab.explain") },
                { to: "/admin/rules/fatigue", label: t("rules.tab.fatigue") },
              ]}
            />
            <Sections>
              <Route index element={<RuleList />} />
              <Route path="explain" element={<Explainer />} />
              <Route path="fatigue" element={<Fatigue />} />
            </Sections>
          </Page>
        }
      />
    </Routes>
  );
}

function RuleList() {
  const { t } = useTexts();
  const own = useTextsOf(builder);
  const now = useNow(true);
  const rules = usePages<Rule>(["rules"], async (after) => {
    const query = { limit: 100, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/rules", { params: { query } }));
    return { rows: page.rules, next: page.next_after };
  });
  return (
    <>
      <Loaded query={rules}>
        {(rows) => (
          <Table
            label={t("admin.rules")}
            rows={rows}
            id={(rule) => rule.id}
            empty={t("rules.empty")}
            columns={[
              { head: t("rules.decision"), cell: (rule) => <Decision rule={rule} /> },
              { head: t("rules.about"), wide: true, cell: (rule) => <About rule={rule} /> },
              {
                head: own("list.scope"),
                cell: (rule) => <ScopeName definition={definitionOf(rule)} />,
              },
              { head: t("rules.state"), cell: (rule) => <State rule={rule} /> },
              {
                head: own("list.expires"),
                cell: (rule) => <Expiry at={definitionOf(rule).expires_at} now={now} />,
              },
              { head: own("list.used"), cell: (rule) => <LastUse rule={rule} /> },
              { head: t("rules.by"), cell: (rule) => <Foreign>{rule.created_by}</Foreign> },
            ]}
          />
        )}
      </Loaded>
      <More query={rules} />
    </>
  );
}

function State({ rule }: { rule: Rule }) {
  const { t, language } = useTexts();
  const own = useTextsOf(builder);
  const tone = rule.state === "active" ? "ok" : rule.state === "invalid" ? "bad" : "quiet";
  return (
    <>
      <Pill tone={tone}>{t(`rules.state.${rule.state}`)}</Pill>
      {rule.problems.map((problem) => (
        <span key={problem.path + problem.code} className={`${css.under} foreign`}>
          {problem.path}: {problem.message}
        </span>
      ))}
      {rule.warnings.map((warning) => (
        <span key={`${warning.code} ${warning.rule_id ?? ""}`} className={css.under}>
          {warning.rule_id == null ? (
            <Lines {...ruleWarning(language, warning.code, warning.message)} />
          ) : (
            <>
              {own(warning.code === "duplicate" ? "why.duplicate" : "why.unreachable")}{" "}
              <RuleName id={warning.rule_id} />
            </>
          )}
        </span>
      ))}
    </>
  );
}

function LastUse({ rule }: { rule: Rule }) {
  const own = useTextsOf(builder);
  if (rule.last_hit_at == null) {
    return (
      <span className={css.quiet}>
        {rule.unused_days > 0
          ? own("list.never_used", { count: rule.unused_days })
          : own("list.unused")}
      </span>
    );
  }
  return (
    <>
      <When at={rule.last_hit_at} />
      <span className={css.under}>{own("list.uses", { count: rule.hits })}</span>
    </>
  );
}

function Decision({ rule }: { rule: Rule }) {
  const { t } = useTexts();
  const { decision } = definitionOf(rule);
  return <Pill tone={VERDICT_TONE[decision] ?? "quiet"}>{t(`verdict.${decision}`)}</Pill>;
}

function About({ rule }: { rule: Rule }) {
  const own = useTextsOf(builder);
  const definition = definitionOf(rule);
  return (
    <>
      <Link
        className={`${css.link} foreign mono`}
        to={`/admin/rules/rule/${encodeURIComponent(rule.id)}`}
      >
        {ruleLine(definition, own("rule.all_calls"))}
      </Link>
      {definition.justification !== undefined && (
        <span className={`${css.under} foreign`}>{definition.justification}</span>
      )}
    </>
  );
}

function Explainer() {
  const { t } = useTexts();
  const [command, setCommand] = useState("");
  const [shell, setShell] = useState<"bash" | "powershell" | "cmd">("bash");
  const [cwd, setCwd] = useState("");
  const ask = useMutation({
    mutationFn: async () => {
      const where = cwd.trim() === "" ? {} : { cwd: cwd.trim() };
      const risk = await data(
        api.POST("/api/v1/admin/risk/explain", { body: { command, shell, ...where } }),
      );
      const rules = await data(
        api.POST("/api/v1/admin/rules/test", {
          body: { tool: shell === "bash" ? "bash" : "powershell", command },
        }),
      );
      return { risk, rules };
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (command.trim() !== "") ask.mutate();
  }
  return (
    <>
      <Section title={t("risk.title")} lead={t("risk.lead")}>
        <form className={css.form} onSubmit={submit}>
          <Textarea
            className={css.whole ?? ""}
            classNames={{ input: "mono" }}
            label={t("risk.command")}
            placeholder="rm -rf build && git push --force"
            autosize
            minRows={2}
            maxRows={12}
            spellCheck={false}
            value={command}
            onChange={(event) => setCommand(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
            }}
          />
          <NativeSelect
            label={t("risk.shell")}
            value={shell}
            onChange={(event) => setShell(event.currentTarget.value as typeof shell)}
            data={["bash", "powershell", "cmd"]}
          />
          <TextInput
            label={t("risk.cwd")}
            placeholder="/workspace"
            value={cwd}
            onChange={(event) => setCwd(event.currentTarget.value)}
          />
          <div className={css.formFoot}>
            <Button type="submit" loading={ask.isPending} disabled={command.trim() === ""}>
              {t("risk.explain")}
            </Button>
          </div>
        </form>
      </Section>
      {ask.error !== null && <ErrorView error={asApiError(ask.error)} />}
      {ask.data !== undefined && <Explained risk={ask.data.risk} rules={ask.data.rules} />}
    </>
  );
}

function Fatigue() {
  const { t, language } = useTexts();
  const query = useQuery({
    queryKey: ["admin", "fatigue"],
    queryFn: () => data(api.GET("/api/v1/admin/rules/fatigue", { params: { query: {} } })),
  });
  const answers = useAnswerColumns<Schemas["CodeView"]>();
  const percent = (value: number) =>
    value.toLocaleString(language, { style: "percent", maximumFractionDigits: 0 });
  return (
    <Loaded query={query}>
      {(found) => (
        <>
          <div className={css.figures}>
            <Figure name={t("fatigue.calls")} value={found.calls.toLocaleString(language)} />
            <Figure name={t("fatigue.prompts")} value={found.prompts.toLocaleString(language)} />
            <Figure
              name={t("fatigue.rate")}
              value={found.prompts_per_100_calls.toLocaleString(language, {
                maximumFractionDigits: 1,
              })}
            />
          </div>
          <PromptBudget found={found} />
          <Table
            label={t("rules.tab.fatigue")}
            rows={found.codes}
            id={(row) => row.code}
            empty={t("fatigue.empty")}
            columns={[
              {
                head: t("fatigue.reason"),
                wide: true,
                cell: (row) => <Coded code={row.code} />,
              },
              { head: t("fatigue.asked"), end: true, cell: (row) => row.asked },
              { head: t("fatigue.approved"), end: true, cell: (row) => percent(row.approve_rate) },
              ...answers,
              {
                head: t("fatigue.proposals"),
                wide: true,
                cell: (row) =>
                  row.proposals.length === 0 ? "–" : <Proposals proposals={row.proposals} />,
              },
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

/** Rules that the service proposes; one of them is taken over as a draft. */
function Proposals({ proposals }: { proposals: readonly unknown[] }) {
  const { t } = useTexts();
  return proposals.map((proposal, index) => (
    <div key={index} className={css.stack}>
      <pre className={`${css.block} foreign`}>{asText(proposal)}</pre>
      <Link className={css.link} to="/admin/rules/new" state={{ proposal }}>
        {t("fatigue.take")}
      </Link>
    </div>
  ));
}
