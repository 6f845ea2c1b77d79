/** Who may answer a confirmation by an approval policy, and who has approved so far. */
import { UserCheck } from "lucide-react";
import type { ApprovalTerms } from "../events/messages";
import type { Confirmation } from "../events/model";
import { type Language, useTexts, useTextsOf } from "../i18n";
import { approval } from "../i18n/texts/approval";
import { useNow } from "../shared/useNow";
import { visible } from "../shared/visible";
import { useIdentity } from "../shell/identity";
import { approversOf, hasApproved, missing, namesOf } from "./approving";
import css from "./Dock.module.css";

type Words = ReturnType<typeof useTextsOf<keyof typeof approval>>;
type Step = ApprovalTerms["steps"][number];

/** Who may answer since a step; the owner of a session is who requests its calls. */
function stepNames(step: Step, terms: ApprovalTerms, a: Words): string[] {
  const owner = step.owner && terms.not_requester !== true;
  return [...(step.groups ?? []), ...(owner ? [a("owner")] : [])];
}

/** A moment of today as a time, another one with its day. */
function momentOf(at: string, now: number, language: Language): string {
  const moment = new Date(at);
  const isToday = moment.toDateString() === new Date(now).toDateString();
  return moment.toLocaleString(language === "zh" ? "zh-CN" : "en-GB", {
    ...(isToday ? {} : { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
  });
}

/** How many people have approved, in the head of the card. */
export function ApprovalCount({ confirmation }: { confirmation: Confirmation }) {
  const a = useTextsOf(approval);
  const quorum = confirmation.request.approval?.quorum ?? 1;
  if (quorum < 2) return null;
  const given = confirmation.approvedBy.length;
  return (
    <span className={css.approvals}>
      <UserCheck size={13} aria-hidden />
      {a("count", { given, quorum })}
    </span>
  );
}

/** The policy, who may answer now and later, and who has approved. */
export function Approvers({ confirmation }: { confirmation: Confirmation }) {
  const { t, language } = useTexts();
  const a = useTextsOf(approval);
  const { approval: terms, expires_at: end } = confirmation.request;
  const steps = (terms?.steps ?? []).filter((step) => end == null || step.at < end);
  const later = (at: number) => steps.filter((step) => Date.parse(step.at) > at);
  const now = useNow(later(Date.now()).length > 0);
  if (terms == null) return null;
  const isNamed = (step: Step) => stepNames(step, terms, a).length > 0;
  const coming = later(now);
  const active = steps.filter((step) => !coming.includes(step));
  const names = [...new Set(active.flatMap((step) => stepNames(step, terms, a)))];
  const given = confirmation.approvedBy;
  return (
    <div className={css.why}>
      <h3>{a("title")}</h3>
      <ul className="foreign">
        <li>
          {a("now", {
            policy: visible(terms.policy),
            who: namesOf(names, language, "or"),
          })}
        </li>
        {coming.filter(isNamed).map((step) => (
          <li key={step.at}>
            {a("later", {
              time: momentOf(step.at, now, language),
              who: namesOf(stepNames(step, terms, a), language, "and"),
            })}
          </li>
        ))}
        {terms.not_requester && terms.requester != null && (
          <li>{a("barred", { user: visible(terms.requester) })}</li>
        )}
        {(terms.quorum ?? 1) > 1 && (
          <li>
            {given.length === 0
              ? a("several", { count: terms.quorum ?? 1 })
              : t("approvers.given", {
                  who: approversOf(given, confirmation.behalf, t, language),
                  count: missing(confirmation),
                })}
          </li>
        )}
      </ul>
    </div>
  );
}

/** What stands where the answers would be: why there are none, or that there is one already. */
export function Standing({
  confirmation,
  mayAnswer,
}: {
  confirmation: Confirmation;
  mayAnswer: boolean | null;
}) {
  const a = useTextsOf(approval);
  const { me } = useIdentity();
  const terms = confirmation.request.approval;
  const userId = me?.user_id ?? "";
  const count = missing(confirmation);
  if (hasApproved(confirmation, userId)) {
    return (
      <p className={css.standing} role="status">
        {a("you_have", { count })}
      </p>
    );
  }
  if (mayAnswer !== false) return null;
  if (terms == null) return null;
  const isBarred = terms.not_requester === true && terms.requester === userId;
  const policy = visible(terms.policy);
  return (
    <p className={`${css.hint} foreign`}>
      {a(isBarred ? "you_are_barred" : "not_you", { policy })}
    </p>
  );
}
