/** A rule by what it says, as a link to it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, data } from "../../../api/client";
import { useTexts, useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { visible } from "../../../shared/visible";
import css from "../../parts/parts.module.css";
import { conditionsInWords, type Definition, definitionOf } from "../ruleWords";

export function RuleName({ id }: { id: string }) {
  const { t } = useTexts();
  const own = useTextsOf(builder);
  const rule = useQuery({
    queryKey: ["admin", "rule", id],
    retry: false,
    queryFn: () =>
      data(api.GET("/api/v1/admin/rules/{rule_id}", { params: { path: { rule_id: id } } })),
  });
  if (rule.isError) return <span className={css.quiet}>{own("rule.gone")}</span>;
  if (rule.data === undefined) return <span className={css.quiet}>…</span>;
  const definition = definitionOf(rule.data);
  return (
    <Link className={`${css.link} foreign`} to={`/admin/rules/rule/${encodeURIComponent(id)}`}>
      {t(`verdict.${definition.decision}`)}{" "}
      <span className="mono">{ruleLine(definition, own("rule.all_calls"))}</span>
    </Link>
  );
}

/** Tool and conditions in one line. */
export function ruleLine(definition: Definition, allCalls: string): string {
  return visible(`${definition.tool} ${conditionsInWords(definition) || `(${allCalls})`}`);
}
