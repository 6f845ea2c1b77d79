/** Keys that answer a confirmation: they do what their badge says, and nothing where none is shown. */
import { Kbd } from "@mantine/core";
import { useEffect, useState } from "react";

/** Marks a place that holds something to be sent. */
export const UNSENT = "data-unsent";
/** Marks buttons that do not approve once. */
const OTHER_ANSWER = "data-other-answer";
export const otherAnswer = { [OTHER_ANSWER]: true };

export interface KeyActions {
  /** Null where nothing can be approved now. */
  approve: (() => void) | null;
  decline: (() => void) | null;
}

/**
 * Ctrl+Enter approves, Ctrl+Shift+Backspace declines; whether Ctrl+Enter approves from here.
 *
 * Also while something is typed in a message or in the card. Where the key belongs to something
 * else, such as a form, it approves nothing and its badge is not shown.
 */
export function useAnswerKeys({ approve, decline }: KeyActions): boolean {
  useEffect(() => {
    if (approve === null && decline === null) return;
    const listen = (event: KeyboardEvent) => {
      const action = actionOf(event, approve, decline);
      if (action === null) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    // Before the field sees the key, which would send what is typed there.
    document.addEventListener("keydown", listen, { capture: true });
    return () => document.removeEventListener("keydown", listen, { capture: true });
  }, [approve, decline]);
  return useReach();
}

function actionOf(
  event: KeyboardEvent,
  approve: (() => void) | null,
  decline: (() => void) | null,
): (() => void) | null {
  if (!(event.ctrlKey || event.metaKey) || event.repeat || event.altKey) return null;
  if (event.isComposing || event.keyCode === 229) return null;
  if (event.key === "Enter" && !event.shiftKey) {
    return isMeantElsewhere(event.target) ? null : approve;
  }
  return event.key === "Backspace" && event.shiftKey ? decline : null;
}

/** Whether the key would approve from where the focus is. */
function useReach(): boolean {
  const [reaches, setReaches] = useState(() => !isMeantElsewhere(document.activeElement));
  useEffect(() => {
    const look = () => setReaches(!isMeantElsewhere(document.activeElement));
    look();
    document.addEventListener("focusin", look);
    document.addEventListener("focusout", look);
    return () => {
      document.removeEventListener("focusin", look);
      document.removeEventListener("focusout", look);
    };
  }, []);
  return reaches;
}

/** Whether a key pressed there belongs to a form, a dialog, or a button that answers otherwise. */
function isMeantElsewhere(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // An answer was being written when the confirmation took its place.
  if (target === document.body && document.querySelector(`[hidden] [${UNSENT}]`)) return true;
  if (target.closest(`form, [role="dialog"], [${OTHER_ANSWER}]`)) return true;
  return target.dataset.ownKeys !== undefined;
}

const isMac = () => navigator.userAgent.includes("Mac");

export function ApproveBadge() {
  return <Kbd size="xs" aria-hidden>{`${isMac() ? "⌘" : "Ctrl"} ⏎`}</Kbd>;
}

export function DeclineBadge() {
  return <Kbd size="xs" aria-hidden>{`${isMac() ? "⌘" : "Ctrl"} ⇧ ⌫`}</Kbd>;
}
