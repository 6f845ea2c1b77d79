/** Who may answer a confirmation, and who has. */
import type { Confirmation } from "../events/model";
import type { Language, Translate } from "../i18n";
import { visible } from "../shared/visible";
import { useIdentity } from "../shell/identity";
import { useMayDecide } from "../shell/inbox";

/** Names in a sentence: `bob and eve`. */
export function namesOf(names: readonly string[], language: Language, kind: "and" | "or"): string {
  const type = kind === "and" ? "conjunction" : "disjunction";
  return new Intl.ListFormat(language, { type }).format(names.map(visible));
}

/** People who have approved, with the users for whom they are substitutes. */
export function approversOf(
  people: readonly string[],
  behalf: Confirmation["behalf"],
  t: Translate,
  language: Language,
): string {
  const named = people.map((by) => {
    const user = behalf[by];
    return user === undefined ? by : t("approvers.for", { by, user });
  });
  return namesOf(named, language, "and");
}

/** How many more people must approve. */
export const missing = ({ request, approvedBy }: Confirmation): number =>
  Math.max(0, (request.approval?.quorum ?? 1) - approvedBy.length);

export const hasApproved = ({ approvedBy }: Confirmation, userId: string | undefined): boolean =>
  userId !== undefined && approvedBy.includes(userId);

/** Whether the person may answer; null before the service has said so. */
export function useMayAnswer(request: Confirmation["request"] | undefined): boolean | null {
  const { may, holds } = useIdentity();
  const decides = useMayDecide(request?.confirmation_id);
  if (!may("approve")) return false;
  // Without a policy, the owner of a session decides, and reads the session only as its owner.
  return request?.approval == null ? holds("approve") || decides : decides;
}
