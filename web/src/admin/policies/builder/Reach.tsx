/** What a rule would do to the newest calls, while it is written. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, data, type Schemas } from "../../../api/client";
import { asApiError } from "../../../events/sessionStore";
import { useTexts, useTextsOf } from "../../../i18n";
import { ruleWarning } from "../../../i18n/ruleWarnings";
import { type BuilderKey, builder } from "../../../i18n/texts/builder";
import { visible } from "../../../shared/visible";
import { ErrorView } from "../../../shell/ErrorView";
import { Lines } from "../../../shell/Said";
import { Foreign, Pill, When } from "../../parts/Bits";
import { Section } from "../../parts/Page";
import { type Definition, VERDICT_TONE } from "../ruleWords";
import css from "./Builder.module.css";
import { callLine } from "./callLine";
import { RuleName } from "./RuleName";

type Result = Schemas["DryRunResult"];
const LAST = 300;

interface Props {
  /** Null while it is no whole rule. */
  definition: Definition | null;
  insteadOf: string | undefined;
}

/** The dry run of a definition; disabled for none. */
function useReach({ definition, insteadOf }: Props) {
  const body = definition && {
    definition,
    last: LAST,
    ...(insteadOf === undefined ? {} : { instead_of: insteadOf }),
  };
  return useQuery({
    queryKey: ["admin", "rules", "reach", body],
    enabled: body !== null,
    retry: false,
    placeholderData: (before: Result | undefined) => before,
    queryFn: () =>
      data(api.POST("/api/v1/admin/rules/dry-run", { body: body as NonNullable<typeof body> })),
  });
}

export function Reach(props: Props) {
  const own = useTextsOf(builder);
  const { definition } = props;
  const result = useReach(props);
  return (
    <Section title={own("reach")}>
      <div role="status" aria-busy={result.isFetching} className={css.reach} data-testid="reach">
        {definition === null ? (
          <p className={css.quiet}>{own("reach.incomplete")}</p>
        ) : result.error !== null ? (
          <>
            <p className={css.headline}>{own("reach.invalid")}</p>
            <ErrorView error={asApiError(result.error)} compact />
          </>
        ) : result.data === undefined ? (
          <p className={css.quiet}>{own("reach.working")}</p>
        ) : (
          <ReachView result={result.data} isActive={definition.enabled !== false} />
        )}
      </div>
    </Section>
  );
}

/** The same in one line, where the whole stands further down. */
export function ReachLine(props: Props) {
  const own = useTextsOf(builder);
  const { data: result, error } = useReach(props);
  if (props.definition === null || (result === undefined && error === null)) return null;
  return (
    <p className={css.ticker} aria-hidden>
      {error !== null || result === undefined
        ? own("reach.invalid")
        : headline(own, result.judged, result.matched, changedBy(result))}
    </p>
  );
}

const changedBy = (result: Result): number =>
  result.changes.reduce((sum, change) => sum + change.calls, 0);

function ReachView({ result, isActive }: { result: Result; isActive: boolean }) {
  const own = useTextsOf(builder);
  const changed = changedBy(result);
  const { judged, matched } = result;
  const unknown = result.not_judged + result.unknowable;
  return (
    <>
      <p className={css.headline} data-effect={changed > 0}>
        {headline(own, judged, matched, changed)}
      </p>
      {unknown > 0 && <p className={css.quiet}>{own("reach.unknown", { count: unknown })}</p>}
      <Reasons result={result} isActive={isActive} />
      {changed > 0 && (
        <Group title={own("reach.changes")}>
          {result.changes.map((change) => (
            <li key={`${change.before}-${change.after}`} className={css.change}>
              <Verdicts before={change.before} after={change.after} />{" "}
              <span className={css.quiet}>{own("reach.calls", { count: change.calls })}</span>
              <pre className={`${css.lines} foreign`}>
                {change.examples.map((one) => visible(lineOf(one))).join("\n")}
              </pre>
            </li>
          ))}
        </Group>
      )}
      {result.matches.length > 0 && (
        <Group title={`${own("reach.matches")} (${matched})`}>
          {result.matches.map((call) => (
            <CallRow key={call.operation_id} call={call}>
              <Verdicts before={call.before} after={call.after} />
            </CallRow>
          ))}
        </Group>
      )}
      {result.near_misses.length > 0 && (
        <Group title={own("reach.misses")}>
          {result.near_misses.map((call) => (
            <CallRow key={call.operation_id} call={call}>
              <span className={css.quiet}>
                {own("reach.missed", {
                  names: call.missed.map((name) => own(`miss.${name}`)).join(", "),
                })}
              </span>
            </CallRow>
          ))}
        </Group>
      )}
    </>
  );
}

type Own = (key: BuilderKey, values?: Readonly<Record<string, string | number>>) => string;

function headline(own: Own, judged: number, matched: number, changed: number): string {
  if (judged === 0) return own("reach.none_yet");
  if (matched === 0) return own("reach.nothing", { judged });
  if (changed === 0) return own("reach.same", { judged, matched });
  return own("reach.some", { judged, matched, changed });
}

/** Why it has no effect, on all calls or on some. */
function Reasons({ result, isActive }: { result: Result; isActive: boolean }) {
  const own = useTextsOf(builder);
  const { language } = useTexts();
  if (isActive && result.warnings.length + result.obstacles.length === 0) return null;
  return (
    <Group title={own("reach.why")}>
      {!isActive && <li>{own("why.disabled")}</li>}
      {result.warnings.map((warning) => (
        <li key={`${warning.code} ${warning.rule_id ?? ""}`}>
          {warning.rule_id == null ? (
            <Lines {...ruleWarning(language, warning.code, warning.message)} />
          ) : (
            <>
              {own(warning.code === "duplicate" ? "why.duplicate" : "why.unreachable")}{" "}
              <RuleName id={warning.rule_id} />
            </>
          )}
        </li>
      ))}
      {result.obstacles.map((obstacle) => (
        <li key={`${obstacle.code} ${obstacle.rule_id ?? ""}`}>
          {whyOf(own, obstacle.code, obstacle.rule_id != null)}
          {obstacle.rule_id != null && (
            <>
              {" "}
              <RuleName id={obstacle.rule_id} />
            </>
          )}{" "}
          <span className={css.quiet}>({own("reach.calls", { count: obstacle.calls })})</span>
        </li>
      ))}
    </Group>
  );
}

/** A reason that this page does not know is shown by its name. */
function whyOf(own: Own, code: string, hasRule: boolean): ReactNode {
  const key = `why.${code}${hasRule ? ".rule" : ""}`;
  return key in builder ? own(key as BuilderKey) : <Foreign mono>{code}</Foreign>;
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={css.group}>
      <h3>{title}</h3>
      <ul>{children}</ul>
    </div>
  );
}

function CallRow({
  call,
  children,
}: {
  call: Schemas["MatchedCall"] | Schemas["NearMissedCall"];
  children: ReactNode;
}) {
  return (
    <li className={css.call}>
      <code className="mono foreign">
        {visible(callLine(call.tool_name, call.arguments as Record<string, unknown>))}
      </code>
      <span className={css.callFoot}>
        {children} <When at={call.started_at} />
      </span>
    </li>
  );
}

function Verdicts({ before, after }: { before: string; after: string }) {
  if (before === after) return <Verdict value={before} />;
  return (
    <span className={css.verdicts}>
      <Verdict value={before} /> <span aria-hidden>→</span> <Verdict value={after} />
    </span>
  );
}

function Verdict({ value }: { value: string }) {
  const { t } = useTexts();
  const isKnown = value === "allow" || value === "ask" || value === "deny";
  return (
    <Pill tone={VERDICT_TONE[value] ?? "quiet"}>
      {isKnown ? t(`verdict.${value}`) : <Foreign>{value}</Foreign>}
    </Pill>
  );
}

const lineOf = (example: Record<string, unknown>): string =>
  callLine(String(example.tool_name), (example.arguments ?? {}) as Record<string, unknown>);
