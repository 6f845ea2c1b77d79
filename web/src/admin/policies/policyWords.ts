/** An approval policy in a few words, for the list. */
import type { Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import { visible } from "../../shared/visible";

type Policy = Schemas["AdminApprovalPolicy"];

const SELECTORS = ["agents", "projects", "tools", "risks", "owners"] as const;

/** Which requests it applies to. */
export function useSelection() {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  return (selector: Policy["applies_to"]): string => {
    const parts = SELECTORS.flatMap((name) => {
      const values = selector[name];
      if (values == null) return [];
      const said = values.map((value) =>
        name === "risks" ? t(`risk.${value as Risk}`) : visible(value),
      );
      return [a("policies.one", { field: a(`policies.${name}`), values: said.join(", ") || "–" })];
    });
    return parts.length === 0 ? a("policies.everything") : parts.join(" · ");
  };
}

export type Risk = NonNullable<Policy["applies_to"]["risks"]>[number];
export const RISKS: readonly Risk[] = ["low", "medium", "high", "critical"];

/** Who answers in a step. */
export function useStepWords() {
  const a = useTextsOf(approvers);
  return ({ groups = [], owner, after_s: after = 0 }: Policy["steps"][number]): string => {
    const named = [...groups.map(visible), ...(owner ? [a("policies.owner.short")] : [])];
    const who = named.join(", ");
    if (after === 0) return who;
    return a("policies.after.short", { who, minutes: Number((after / 60).toFixed(1)) });
  };
}

/** How many must approve, and who must not. */
export function useConditions() {
  const a = useTextsOf(approvers);
  return (policy: Policy): string =>
    [
      ...(policy.quorum > 1 ? [a("policies.quorum.short", { count: policy.quorum })] : []),
      ...(policy.not_requester ? [a("policies.not_requester.short")] : []),
    ].join(" · ");
}
