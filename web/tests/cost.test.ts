/** What a session cost, from its log. */
import { expect, test } from "vitest";
import { costOf, dollars } from "../src/chat/cost";
import { EMPTY } from "../src/events/model";
import { reduce } from "../src/events/reduce";
import { golden, log } from "./golden";

function afterRuns(...costs: (number | null)[]) {
  const events = costs.flatMap((cost, index) => {
    const run_id = `run_${index}`;
    const usage = { input_tokens: 10, output_tokens: 5, cost };
    return [golden("run_started", { run_id }), golden("run_finished", { run_id, usage })];
  });
  return reduce(EMPTY, log(...events)).runs.values();
}

test("the runs of a session add up", () => {
  expect(costOf(afterRuns(0.25, 0.5))).toBe(0.75);
});

test("a sum that would leave out a run without a price is not told", () => {
  expect(costOf(afterRuns(0.25, null))).toBeNull();
});

test("what is free costs nothing, and says so", () => {
  expect(costOf(afterRuns(0, 0))).toBe(0);
});

test("a sub-agent's spending is in the sum, once", () => {
  const usage = { input_tokens: 10, output_tokens: 5, cost: 0.5 };
  const finished = golden("subagent_finished", { usage });
  const state = reduce(
    EMPTY,
    log(
      golden("run_started"),
      golden("tool_call_started"),
      golden("subagent_started"),
      finished,
      // A process that was lost is told of again.
      finished,
      golden("run_finished", { usage: { ...usage, cost: 0.25 } }),
    ),
  );
  expect(costOf(state.runs.values())).toBe(0.75);
});

test("a session in which no model ran has no cost", () => {
  expect(costOf([])).toBeNull();
});

test("small sums keep what they say", () => {
  expect(dollars(0.00123, "en")).toBe("$0.0012");
  expect(dollars(12.5, "en")).toBe("$12.50");
});
