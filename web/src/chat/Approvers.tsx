/** Who may answer a confirmation by an approval policy, and who has approved so far. */
import { UserCheck } from "lucide-react";
import type { ApprovalTerms } from "../events/messages";
import type { Confirmation } from "../events/model";
import { type Language, type Translate, useTexts } from "../i18n";
import { useNow } from "../shared/useNow";
import { visible } from "../shared/visible";
import { useIdentity } from "../shell/identity";
import { useMayDecide } from "../shell/inbox";
import css from "./Dock.module.css";

type Step = ApprovalTerms["steps"][number];

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

function stepNames(step: Step, t: Translate): string[] {
  return [...(step.groups ?? []), ...(step.owner ? [t("approvers.owner")] : [])];
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
  const { t } = useTexts();
  const quorum = confirmation.request.approval?.quorum ?? 1;
  if (quorum < 2) return null;
  const given = confirmation.approvedBy.length;
  return (
    <span className={css.approvals}>
      <UserCheck size={13} aria-hidden />
      {t("approvers.count", { given, quorum })}
    </span>
  );
}

/** The policy, who may answer now and later, and who has approved. */
export function Approvers({ confirmation }: { confirmation: Confirmation }) {
  const { t, language } = useTexts();
  const terms = confirmation.request.approval;
  const steps = terms?.steps ?? [];
  const later = (at: number) => steps.filter((step) => Date.parse(step.at) > at);
  const now = useNow(later(Date.now()).length > 0);
  if (terms == null) return null;
  const coming = later(now);
  const active = steps.filter((step) => !coming.includes(step));
  const names = [...new Set(active.flatMap((step) => stepNames(step, t)))];
  const given = confirmation.approvedBy;
  return (
    <div className={css.why}>
      <h3>{t("approvers.title")}</h3>
      <ul className="foreign">
        <li>
          {t("approvers.now", {
            policy: visible(terms.policy),
            who: namesOf(names, language, "or"),
          })}
        </li>
        {coming.map((step) => (
          <li key={step.at}>
            {t("approvers.later", {
              time: momentOf(step.at, now, language),
              who: namesOf(stepNames(step, t), language, "and"),
            })}
          </li>
        ))}
        {terms.not_requester && terms.requester != null && (
          <li>{t("approvers.barred", { user: visible(terms.requester) })}</li>
        )}
        {(terms.quorum ?? 1) > 1 && (
          <li>
            {given.length === 0
              ? t("approvers.several", { count: terms.quorum ?? 1 })
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

/** How many more people must approve. */
export const missing = ({ request, approvedBy }: Confirmation): number =>
  Math.max(0, (request.approval?.quorum ?? 1) - approvedBy.length);

/** Whether the person may answer; null before the service has said so. */
export function useMayAnswer(request: Confirmation["request"] | undefined): boolean | null {
  const { may, holds } = useIdentity();
  const decides = useMayDecide(request?.confirmation_id);
  if (!may("approve")) return false;
  // Without a policy, the owner of a session decides, and reads the session only as its owner.
  return request?.approval == null ? holds("approve") || decides : decides;
}

/** What stands where the answers would be: why there are none, or that there is one already. */
export function Standing({
  confirmation,
  mayAnswer,
}: {
  confirmation: Confirmation;
  mayAnswer: boolean | null;
}) {
  const { t } = useTexts();
  const { me } = useIdentity();
  const terms = confirmation.request.approval;
  const userId = me?.user_id ?? "";
  const count = missing(confirmation);
  if (hasApproved(confirmation, userId)) {
    return (
      <p className={css.standing} role="status">
        {t("approvers.you_have", { count })}
      </p>
    );
  }
  if (mayAnswer !== false) return null;
  if (terms == null) return <p className={css.hint}>{t("confirm.not_yours")}</p>;
  const isBarred = terms.not_requester === true && terms.requester === userId;
  const policy = visible(terms.policy);
  return (
    <p className={`${css.hint} foreign`}>
      {t(isBarred ? "approvers.you_are_barred" : "approvers.not_you", { policy })}
    </p>
  );
}

export const hasApproved = ({ approvedBy }: Confirmation, userId: string | undefined): boolean =>
  userId !== undefined && approvedBy.includes(userId);
