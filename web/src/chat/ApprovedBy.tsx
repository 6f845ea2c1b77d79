/** Who has answered the confirmation of a call, and whose answers are missing. */
import type { Call, Confirmation } from "../events/model";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { approversOf, missing } from "./approving";
import css from "./CallCard.module.css";
import { useSession } from "./useSession";

/** Below the head of a call that an approval policy covers; in the details of others. */
export function ApprovedBy({ call, policed }: { call: Call; policed: boolean }) {
  return call.confirmationIds.map((id) => <One key={id} id={id} policed={policed} />);
}

function One({ id, policed }: { id: string; policed: boolean }) {
  const confirmation = useSession((session) => session.confirmations.get(id));
  if (confirmation === undefined) return null;
  return (confirmation.request.approval != null) === policed ? (
    <Line confirmation={confirmation} />
  ) : null;
}

function Line({ confirmation }: { confirmation: Confirmation }) {
  const { t, language } = useTexts();
  const { outcome, by, approvedBy, behalf, message } = confirmation;
  const said = (people: readonly string[]) => approversOf(people, behalf, t, language);
  const parts: string[] = [];
  if (outcome === "approved" && by !== null) {
    parts.push(t("approvers.approved", { who: said(approvedBy.length > 0 ? approvedBy : [by]) }));
  } else if (outcome === "pending") {
    if (approvedBy.length > 0) {
      parts.push(t("approvers.given", { who: said(approvedBy), count: missing(confirmation) }));
    }
  } else {
    if (approvedBy.length > 0) parts.push(t("approvers.approved", { who: said(approvedBy) }));
    if (by !== null) parts.push(t("approvers.declined", { who: said([by]) }));
  }
  if (message !== null && message !== "" && by !== null) {
    parts.push(t("approvers.message", { text: visible(message) }));
  }
  if (parts.length === 0) return null;
  return <p className={`${css.answered} foreign`}>{parts.join(" · ")}</p>;
}
