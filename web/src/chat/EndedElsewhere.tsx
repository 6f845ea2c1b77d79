/** Confirmations that ended while they were shown, by another person or without one. */
import { CloseButton } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useStore } from "zustand";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { answeredHere } from "./answering";
import css from "./Dock.module.css";

const SHOWN = 3;

export interface Ended {
  id: string;
  title: string;
  outcome: string;
  by: string | null;
  message: string | null;
}

const OUTCOMES = ["approved", "declined", "expired", "cancelled"] as const;
type Outcome = (typeof OUTCOMES)[number];

/**
 * Those of `ended` that were in `pending` before, and that this page has not answered itself.
 *
 * A withdrawn one is of interest only to who tried to answer it.
 */
export function useEnded(
  pending: readonly string[],
  ended: readonly Ended[],
): readonly [readonly Ended[], (id: string) => void] {
  const seen = useRef(new Set<string>());
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const answers = useStore(answeredHere);
  const found = ended.filter(
    (one) =>
      seen.current.has(one.id) &&
      !dismissed.has(one.id) &&
      (answers.get(one.id) === "refused" || (one.outcome !== "cancelled" && !answers.has(one.id))),
  );
  useEffect(() => {
    for (const id of pending) seen.current.add(id);
  });
  return [found.slice(-SHOWN), (id) => setDismissed((before) => new Set(before).add(id))];
}

interface Props {
  ended: readonly Ended[];
  onDismiss: (id: string) => void;
}

export function EndedElsewhere({ ended, onDismiss }: Props) {
  const { t } = useTexts();
  return (
    <div role="status" className={css.endings}>
      {ended.map((one) => {
        const outcome = OUTCOMES.find((known): known is Outcome => known === one.outcome);
        const by = visible(one.by ?? "?");
        return (
          <div key={one.id} className={css.ending} data-outcome={one.outcome}>
            <span className="foreign">
              {outcome === undefined
                ? visible(one.outcome)
                : t(`confirm.ended.${outcome}`, { by, what: visible(one.title) })}
              {one.message !== null && one.message !== "" && ` “${visible(one.message)}”`}
            </span>
            <CloseButton
              size="sm"
              aria-label={t("common.close")}
              onClick={() => onDismiss(one.id)}
            />
          </div>
        );
      })}
    </div>
  );
}
