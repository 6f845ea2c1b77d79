/** What is said of confirmations that ended while they were shown. */
import { act, renderHook } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answeredHere } from "../src/chat/answering";
import { type Ended, useEnded } from "../src/chat/EndedElsewhere";

const ended = (outcome: string, id = "a"): Ended => ({
  id,
  title: "bash: rm -rf a",
  outcome,
  by: "bob",
  message: null,
});

/** Shown while it is pending, then ended; what is shown of it. */
function noticesOf(outcome: string, meanwhile: () => void = () => undefined) {
  const hook = renderHook(({ pending, over }) => useEnded(pending, over), {
    initialProps: { pending: ["a"], over: [] as Ended[] },
  });
  act(meanwhile);
  hook.rerender({ pending: [], over: [ended(outcome)] });
  return hook;
}

const ids = (hook: ReturnType<typeof noticesOf>) => hook.result.current[0].map((one) => one.id);
const answered = (sent: "sent" | "refused") => answeredHere.setState(new Map([["a", sent]]), true);

beforeEach(() => answeredHere.setState(new Map(), true));

test.each(["approved", "declined", "expired"])("%s by others is shown", (outcome) => {
  expect(ids(noticesOf(outcome))).toEqual(["a"]);
});

test("one's own answer is not, and neither is what was withdrawn", () => {
  expect(ids(noticesOf("approved", () => answered("sent")))).toEqual([]);
  answeredHere.setState(new Map(), true);
  expect(ids(noticesOf("cancelled"))).toEqual([]);
});

test("an answer that came too late learns the outcome, also after the card is gone", () => {
  const hook = noticesOf("declined", () => answered("sent"));
  expect(ids(hook)).toEqual([]);
  act(() => answered("refused"));
  expect(ids(hook)).toEqual(["a"]);
  const late = noticesOf("cancelled", () => answered("refused"));
  expect(ids(late)).toEqual(["a"]);
});

test("what had ended before it was shown is history, and a notice can be closed", () => {
  const hook = renderHook(() => useEnded([], [ended("approved", "old")]));
  expect(hook.result.current[0]).toEqual([]);
  const shown = noticesOf("approved");
  act(() => shown.result.current[1]("a"));
  expect(ids(shown)).toEqual([]);
});
