/** What waits for the person, right above the place where they write. */
import { useMemo, useState } from "react";
import { keyOf } from "../events/attempts";
import type { Confirmation } from "../events/model";
import { useMayAnswer } from "./approving";
import { ConfirmationCard } from "./ConfirmationCard";
import css from "./Dock.module.css";
import { type Ended, EndedElsewhere, useEnded } from "./EndedElsewhere";
import { QuestionCard } from "./QuestionCard";
import { useSession } from "./useSession";

export function Dock() {
  const confirmations = useSession((session) => session.confirmations);
  const questions = useSession((session) => session.questions);
  const pending = useMemo(
    () => [...confirmations.values()].filter((one) => one.outcome === "pending"),
    [confirmations],
  );
  const asked = useMemo(
    () => [...questions.values()].filter((one) => one.outcome === "pending"),
    [questions],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const found = pending.findIndex((one) => one.request.confirmation_id === chosen);
  const index = Math.max(0, found);
  const shown = pending[index];
  const mayAnswer = useMayAnswer(shown?.request);
  const args = useSession((session) =>
    shown === undefined ? undefined : session.calls.get(keyOf(session, shown.request) ?? "")?.args,
  );
  const question = asked[0];
  const ids = useMemo(() => pending.map((one) => one.request.confirmation_id), [pending]);
  const over = useMemo(() => endedOf(confirmations), [confirmations]);
  const [ended, dismiss] = useEnded(ids, over);
  if (shown === undefined && question === undefined && ended.length === 0) return null;
  return (
    <div className={css.dock}>
      <EndedElsewhere ended={ended} onDismiss={dismiss} />
      {shown !== undefined && (
        <ConfirmationCard
          key={shown.request.confirmation_id}
          confirmation={shown}
          args={args}
          position={index}
          count={pending.length}
          mayAnswer={mayAnswer}
          onMove={(by) =>
            setChosen(
              pending[(index + by + pending.length) % pending.length]?.request.confirmation_id ??
                null,
            )
          }
        />
      )}
      {/* What was begun of an answer is there again when the confirmation is answered. */}
      {question !== undefined && (
        <div hidden={shown !== undefined}>
          <QuestionCard key={question.asked.question_id} question={question.asked} />
        </div>
      )}
    </div>
  );
}

function endedOf(confirmations: ReadonlyMap<string, Confirmation>): Ended[] {
  return [...confirmations.values()]
    .filter((one) => one.outcome !== "pending")
    .map(({ request, outcome, by, message }) => ({
      id: request.confirmation_id,
      title: request.title,
      outcome,
      by,
      message,
    }));
}
