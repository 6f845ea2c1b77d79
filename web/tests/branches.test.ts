/** The tree of a session, from its log. */
import { expect, test } from "vitest";
import { branchesOf, shownItems } from "../src/events/branches";
import type { DurableEvent } from "../src/events/messages";
import { EMPTY } from "../src/events/model";
import { reduce } from "../src/events/reduce";
import { golden, log } from "./golden";

const message = (message_id: string, role = "user") =>
  golden("message_completed", { message_id, role });
const answer = (id: string) => message(id, "assistant");
const goTo = (message_id?: string) =>
  golden<"session_branched">("session_branched", { message_id });
const after = (...events: DurableEvent[]) => reduce(EMPTY, log(...events));
const shown = (state: ReturnType<typeof after>) => shownItems(state).map((item) => item.id);
const ask = [message("u1"), answer("a1")];

test("a session that nobody has branched is a line, and shows everything", () => {
  const state = after(...ask, message("u2"), answer("a2"));
  expect(shown(state)).toEqual(["u1", "a1", "u2", "a2"]);
  expect(branchesOf(state).siblings("u2")).toEqual(["u2"]);
  expect(branchesOf(state).newest(state.leaf)).toBe("a2");
});

test("what followed an earlier message is hidden, and can be come back to", () => {
  const state = after(...ask, message("u2"), answer("a2"), goTo("a1"));
  expect(shown(state)).toEqual(["u1", "a1"]);
  expect(branchesOf(state).newest(state.leaf)).toBe("a2");
  const other = reduce(state, [
    { ...message("u3"), seq: 6 },
    { ...answer("a3"), seq: 7 },
  ]);
  expect(shown(other)).toEqual(["u1", "a1", "u3", "a3"]);
  const branches = branchesOf(other);
  expect(branches.siblings("u3")).toEqual(["u2", "u3"]);
  expect(branches.before("u3")).toBe("a1");
  const back = reduce(other, [{ ...goTo(branches.newest("u2") ?? ""), seq: 8 }]);
  expect(shown(back)).toEqual(["u1", "a1", "u2", "a2"]);
});

test("a session can begin anew", () => {
  const state = after(...ask, goTo(), message("u2"));
  expect(shown(state)).toEqual(["u2"]);
  expect(branchesOf(state).siblings("u2")).toEqual(["u1", "u2"]);
  expect(branchesOf(state).before("u2")).toBeNull();
  expect(branchesOf(state).newest(null)).toBe("u2");
});

test("calls, ends of runs and notes stand on the branch on which they happened", () => {
  const state = after(
    ...ask,
    golden("tool_call_started"),
    message("r1", "tool"),
    answer("a2"),
    golden("run_finished"),
    goTo("u1"),
    answer("a3"),
    golden("process_ended"),
  );
  expect(shownItems(state).map((item) => item.kind)).toEqual(["message", "message", "note"]);
  expect(shown(state).slice(0, 2)).toEqual(["u1", "a3"]);
});

test("a message is gone on from behind the results of its calls", () => {
  const state = after(...ask, message("r1", "tool"), answer("a2"));
  expect(branchesOf(state).behind("a1")).toBe("r1");
  expect(branchesOf(state).behind("a2")).toBe("a2");
});

test("results and summaries are no places of their own", () => {
  const compacted = golden("context_compacted", { message_id: "s1" });
  const state = after(
    ...ask,
    message("r1", "tool"),
    compacted,
    answer("a2"),
    goTo("a1"),
    message("u2"),
  );
  expect(branchesOf(state).siblings("u2")).toEqual(["a2", "u2"]);
  expect(branchesOf(state).siblings("a2")).toEqual(["a2", "u2"]);
});

test("live output makes no other tree, so that nothing is drawn again for it", () => {
  const before = after(...ask, golden("tool_call_started"));
  const { seq: _, ...base } = golden("tool_call_started");
  const output = {
    ...base,
    type: "tool_result_streamed",
    stream: "stdout",
    chunk_from: 0,
    chunk_to: 1,
    text: "x",
    after_seq: 3,
  } as never;
  const state = reduce(before, [output]);
  expect(state.calls).not.toEqual(before.calls);
  expect(state.parents).toBe(before.parents);
  expect(state.items).toBe(before.items);
});
