/** Which calls fold into one line. */
import { expect, test } from "vitest";
import { drawn, marksOf } from "../src/chat/folding";
import type { DurableEvent } from "../src/events/messages";
import { EMPTY } from "../src/events/model";
import { reduce } from "../src/events/reduce";
import { golden, log } from "./golden";

let count = 0;

function call(status: string, more: Record<string, unknown> = {}): DurableEvent[] {
  count += 1;
  const ids = { tool_call_id: `toolu_${count}`, operation_id: `op_${count}` };
  return [
    golden("tool_call_started", ids),
    golden("tool_call_completed", { ...ids, status, ...more }),
  ];
}

const said = (content: unknown[]) => {
  count += 1;
  return golden("message_completed", { message_id: `msg_${count}`, content });
};
const words = said([{ type: "text", text: "Now the next." }]);

function shape(events: DurableEvent[], kept: ReadonlySet<string> = new Set()): string[] {
  const state = reduce(EMPTY, log(...events));
  return drawn(state.items, marksOf(state, state.items, kept)).map((one) =>
    one.kind === "fold" ? `fold of ${one.calls.length}` : one.item.kind,
  );
}

test("calls that went well one after another are one line", () => {
  expect(shape([...call("success"), ...call("skipped"), ...call("success")])).toEqual([
    "fold of 3",
  ]);
});

test("one alone is a card", () => {
  expect(shape(call("success"))).toEqual(["call"]);
});

test.each(["error", "denied", "declined", "expired", "cancelled", "timeout", "interrupted", "new"])(
  "a call that ended as %s stays in sight",
  (status) => {
    const events = [call("success"), call("success"), call(status), call("success")].flat();
    expect(shape(events)).toEqual(["fold of 2", "call", "call"]);
  },
);

test("a call that runs or waits is not folded", () => {
  const [started] = call("success");
  expect(shape([...call("success"), ...call("success"), started as DurableEvent])).toEqual([
    "fold of 2",
    "call",
  ]);
});

test("words end a fold, a message of calls alone does not", () => {
  const calling = said([{ type: "tool_use", id: "toolu_x", name: "bash", input: {} }]);
  const two = () => [...call("success"), calling, ...call("success")];
  expect(shape(two())).toEqual(["fold of 2"]);
  expect(shape([...two(), words, ...two()])).toEqual(["fold of 2", "message", "fold of 2"]);
});

test("pictures, sub-agents and what somebody has opened stay in sight", () => {
  const picture = call("success", { raw_result: { type: "image", data: {} } });
  expect(shape([...call("success"), ...picture, ...call("success")])).toEqual([
    "call",
    "call",
    "call",
  ]);
  const events = [...call("success"), ...call("success"), ...call("success")];
  expect(shape(events, new Set([`op_${count}`]))).toEqual(["fold of 2", "call"]);
});

test("a fold that would be very long is several", () => {
  const events = Array.from({ length: 250 }, () => call("success")).flat();
  expect(shape(events)).toEqual(["fold of 100", "fold of 100", "fold of 50"]);
});
