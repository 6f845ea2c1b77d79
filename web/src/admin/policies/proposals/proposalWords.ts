/** Proposed rules in words. */
import type { Schemas } from "../../../api/client";
import { useTexts } from "../../../i18n";
import type { PillTone } from "../../parts/Bits";
import { conditionsInWords, type Definition } from "../ruleWords";

export type Proposal = Schemas["RuleProposal"];
export type State = Proposal["state"];

export const STATE_TONE: Readonly<Record<State, PillTone>> = {
  open: "note",
  accepted: "ok",
  dismissed: "quiet",
  stale: "warn",
};

/** A title as three parts: the calls in its middle stand in backticks. */
export function titleParts(title: string, covers: string): [string, string, string] {
  const at = title.indexOf(`\`${covers}\``);
  return at < 0
    ? [title, "", ""]
    : [title.slice(0, at), covers, title.slice(at + covers.length + 2)];
}

/** When the rule would end if it was accepted now; it lasts as long as in its proof. */
export function endOf(
  definition: Definition,
  provenAt: string,
  now: number,
  isOpen = true,
): Date | null {
  const end = Date.parse(definition.expires_at ?? "");
  if (Number.isNaN(end)) return null;
  return new Date(isOpen ? now + Math.max(0, end - Date.parse(provenAt)) : end);
}

/** What of the conditions is neither the command nor its paths, in one line. */
export function furtherConditions(definition: Definition): string {
  const { argv: _argv, paths: _paths, fields, ...match } = definition.match ?? {};
  const others = conditionsInWords({ ...definition, match });
  const each = Object.entries(fields ?? {}).map(([name, condition]) => {
    const [[kind, value] = ["", null], ...more] = Object.entries(condition);
    return kind === "equals" && more.length === 0
      ? `${name} = ${JSON.stringify(value)}`
      : `${name}: ${JSON.stringify(condition)}`;
  });
  return [others, ...each].filter((part) => part !== "").join(" · ");
}

export function useDay(): (day: Date) => string {
  const { language } = useTexts();
  return (day) =>
    day.toLocaleDateString(language === "zh" ? "zh-CN" : "en-GB", {
      day: "numeric",
      month: "short",
      year: "numeric",
    });
}
