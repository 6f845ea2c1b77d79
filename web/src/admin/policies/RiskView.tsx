/** A command taken apart: what would run, why it is risky, and what the rules make of it. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { reasonSaid } from "../../i18n/reasons";
import { visible } from "../../shared/visible";
import { Chips, Foreign, Pill } from "../parts/Bits";
import { Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import risk from "./RiskView.module.css";
import { RISK_TONE, segmentsOf, VERDICT_TONE } from "./ruleWords";

interface Props {
  risk: Schemas["RiskExplained"];
  rules: Schemas["RuleTestResult"];
}

export function Explained({ risk: found, rules }: Props) {
  const { t, language } = useTexts();
  const { segments, whole } = segmentsOf(found.segments, found.findings);
  const { decision } = rules;
  return (
    <div aria-live="polite">
      <Section
        title={t("risk.verdict")}
        actions={
          <>
            <Pill tone={VERDICT_TONE[decision.verdict] ?? "quiet"}>
              {t(`verdict.${decision.verdict}`)}
            </Pill>
            <Pill tone={RISK_TONE[found.risk] ?? "quiet"}>{t(`risk.${found.risk}`)}</Pill>
          </>
        }
      >
        <div className={css.stack}>
          <p className={`${css.note} foreign`} data-tone={VERDICT_TONE[decision.verdict]}>
            {decision.reason === ""
              ? t("risk.nothing")
              : reasonSaid(language, decision.rule_ids[0] ?? "", visible(decision.reason))}
          </p>
          <ol className={risk.segments} aria-label={t("risk.segments")}>
            {segments.map((segment, index) => (
              <li key={index} data-risky={segment.reasons.length > 0}>
                <code className="mono foreign" dir="ltr">
                  {visible(segment.text)}
                </code>
                {segment.cwd !== null && (
                  <span className={risk.cwd}>
                    {t("risk.in")} <Foreign mono>{segment.cwd}</Foreign>
                  </span>
                )}
                {segment.reasons.map((reason) => (
                  <span key={reason.code + reason.why} className={`${risk.reason} foreign`}>
                    {reasonSaid(language, reason.code, visible(reason.why))}{" "}
                    <code className={risk.code}>{reason.code}</code>
                  </span>
                ))}
              </li>
            ))}
          </ol>
          {whole.map((reason) => (
            <p key={reason.code + reason.why} className={`${css.note} foreign`} data-tone="warn">
              {reasonSaid(language, reason.code, visible(reason.why))}{" "}
              <code className={risk.code}>{reason.code}</code>
            </p>
          ))}
          {found.resolved_targets.length > 0 && (
            <div>
              <h3 className={risk.label}>{t("risk.targets")}</h3>
              <Chips values={found.resolved_targets} />
            </div>
          )}
          {rules.rules.some((voice) => voice.match !== "no") && (
            <div>
              <h3 className={risk.label}>{t("risk.rules")}</h3>
              <Chips
                values={rules.rules
                  .filter((voice) => voice.match !== "no")
                  .map((voice) => `${voice.id}: ${voice.decision}`)}
              />
            </div>
          )}
        </div>
      </Section>
    </div>
  );
}
