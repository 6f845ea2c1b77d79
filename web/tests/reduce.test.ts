import { describe, expect, it } from "vitest";
import { labelOf } from "../src/chat/callStatus";
import { MAX_LIVE } from "../src/events/live";
import type {
  DurableEvent,
  EphemeralEvent,
  SessionEvent,
  Subscribed,
} from "../src/events/messages";
import { EMPTY } from "../src/events/model";
import { reconcile, reduce } from "../src/events/reduce";
import { GOLDEN_NAMES, golden, log } from "./golden";

const RUN = "run_0123456789abcdef01234567";
const CALL = "op_0a1b2c000001";
const TOOL_CALL = "toolu_01";

function live(fields: Record<string, unknown>): EphemeralEvent {
  const { seq: _, ...base } = golden("tool_call_started");
  return { ...base, ...fields, after_seq: 1 } as unknown as EphemeralEvent;
}

const output = (from: number, text: string, more: Record<string, unknown> = {}) =>
  live({
    type: "tool_result_streamed",
    stream: "stdout",
    chunk_from: from,
    chunk_to: from + 1,
    text,
    ...more,
  });

const delta = (from: number, text: string, more: Record<string, unknown> = {}) =>
  live({
    type: "text_delta",
    message_id: "msg_1",
    chunk_from: from,
    chunk_to: from + 1,
    text,
    ...more,
  });

const begun = () => reduce(EMPTY, log(golden("run_started"), golden("tool_call_started")));
const callOf = (state: ReturnType<typeof begun>) => {
  const call = state.calls.get(CALL);
  if (call === undefined) throw new Error("the call is missing");
  return call;
};

describe("every golden event", () => {
  it.each(GOLDEN_NAMES)("%s is taken, and moves the position", (name) => {
    const event = golden(name);
    const state = reduce(EMPTY, [event]);
    expect(state.seq).toBe(event.seq);
    expect(state.epoch).toBe(event.epoch);
  });

  it.each(GOLDEN_NAMES)("%s changes nothing when it comes again", (name) => {
    const once = reduce(EMPTY, [golden(name)]);
    const twice = reduce(once, [golden(name)]);
    expect(twice).toEqual(once);
  });
});

describe("a call", () => {
  it("waits for a person, runs, and ends with what it brought", () => {
    const events = log(
      golden("run_started"),
      golden("tool_call_started"),
      golden("tool_confirmation_request"),
      golden("tool_confirmation_resolved"),
      golden("tool_call_completed"),
      golden("run_finished"),
    );
    expect(callOf(reduce(EMPTY, events.slice(0, 3))).status).toBe("waiting");
    expect(labelOf(callOf(reduce(EMPTY, events.slice(0, 3))))).toBe("call.waiting");
    expect(callOf(reduce(EMPTY, events.slice(0, 4))).status).toBe("running");
    const state = reduce(EMPTY, events);
    expect(callOf(state)).toMatchObject({
      status: "error",
      durationMs: 12.5,
      raw: { type: "terminal", data: { exit_code: 1 } },
      artifactId: "art_1",
      duplicateOf: "toolu_00",
    });
    expect(state.active).toEqual([]);
    expect(state.items.map((item) => item.kind)).toEqual(["call", "run_end"]);
  });

  it.each(["denied", "declined", "expired", "cancelled", "timeout", "interrupted", "disabled"])(
    "that ended as %s says so",
    (status) => {
      const state = reduce(
        EMPTY,
        log(golden("tool_call_started"), golden("tool_call_completed", { status })),
      );
      expect(callOf(state).status).toBe(status);
    },
  );

  it("counts approvals until enough people have approved", () => {
    const asked = golden<"tool_confirmation_request">("tool_confirmation_request.policy");
    const id = asked.confirmation_id;
    const events = log(
      golden("tool_call_started"),
      asked,
      golden("tool_confirmation_vote", { confirmation_id: id }),
      golden("tool_confirmation_resolved", {
        confirmation_id: id,
        by: "ida",
        approved_by: ["eve", "zoe", "ida"],
      }),
    );
    const then = (count: number) => reduce(EMPTY, events.slice(0, count)).confirmations.get(id);
    expect(then(2)?.approvedBy).toEqual(["bob"]);
    expect(then(3)).toMatchObject({
      outcome: "pending",
      approvedBy: ["eve", "zoe"],
      behalf: { zoe: "bob" },
    });
    expect(then(4)).toMatchObject({
      outcome: "approved",
      by: "ida",
      approvedBy: ["eve", "zoe", "ida"],
      behalf: { zoe: "bob" },
    });
    expect(callOf(reduce(EMPTY, events.slice(0, 3))).status).toBe("waiting");
  });

  it("shows what a person put in place of its arguments", () => {
    const state = reduce(
      EMPTY,
      log(
        golden("tool_call_started"),
        golden("tool_confirmation_request"),
        golden("tool_confirmation_resolved.edited"),
      ),
    );
    expect(callOf(state).args).toEqual({ command: "rm -r build/old" });
  });

  it("of a sub-agent stands inside of the call that delegated", () => {
    const inner = golden("tool_call_started", {
      tool_call_id: "toolu_02",
      operation_id: "op_2",
      parent_tool_call_id: TOOL_CALL,
      run_id: "run_2",
    });
    const state = reduce(
      EMPTY,
      log(
        golden("tool_call_started"),
        golden("subagent_started"),
        inner,
        golden("subagent_finished", { parent_tool_call_id: TOOL_CALL }),
      ),
    );
    expect(state.items).toHaveLength(1);
    expect(callOf(state).inner).toEqual([{ kind: "call", id: "op_2" }]);
    expect(callOf(state).subagents).toMatchObject([
      { name: "reader", status: "success", summary: "done", routes: { bash: "disabled" } },
    ]);
  });
});

describe("a call that asks a person", () => {
  const about = (type: string, fields: Record<string, unknown>) =>
    ({ ...golden("tool_call_started"), ...fields, type }) as unknown as DurableEvent;
  const running = () =>
    reduce(
      EMPTY,
      log(golden("run_started"), about("tool_call_started", { awaits_confirmation: false })),
    );
  const asked = about("question_asked", { seq: 3, question_id: "qst_1", question: "Which?" });
  const answered = about("question_answered", {
    seq: 4,
    question_id: "qst_1",
    outcome: "answered",
  });

  it("waits until the question has its answer", () => {
    expect(callOf(running()).status).toBe("running");
    const waiting = reduce(running(), [asked]);
    expect(callOf(waiting).status).toBe("waiting");
    expect(labelOf(callOf(waiting))).toBe("call.waiting.answer");
    expect(callOf(reduce(waiting, [answered])).status).toBe("running");
  });

  it("waits for a ticket only when it is blocking", () => {
    const ticket = { seq: 3, ticket_id: "tkt_1", reason: "no", severity: "low", to: "human" };
    const open = (blocking: boolean) =>
      reduce(running(), [about("ticket_opened", { ...ticket, blocking })]);
    expect(callOf(open(false)).status).toBe("running");
    expect(callOf(open(true)).status).toBe("waiting");
    const resolved = about("ticket_resolved", { seq: 4, ticket_id: "tkt_1", status: "answered" });
    expect(callOf(reduce(open(true), [resolved])).status).toBe("running");
  });

  it("stays as it ended when the answer comes late", () => {
    const over = reduce(reduce(running(), [asked]), [
      about("tool_call_completed", { ...golden("tool_call_completed"), seq: 4 }),
    ]);
    const before = callOf(over).status;
    expect(["running", "waiting"]).not.toContain(before);
    expect(callOf(reduce(over, [{ ...answered, seq: 5 } as DurableEvent])).status).toBe(before);
  });
});

describe("an id that a caller uses again", () => {
  const again = { run_id: "run_2", operation_id: "op_2" };
  const twice = () =>
    reduce(
      EMPTY,
      log(
        golden("tool_call_started"),
        golden("tool_call_completed", { status: "success" }),
        golden("tool_call_started", again),
        golden("tool_confirmation_request", { ...again, confirmation_id: "cfm_2" }),
      ),
    );

  it("makes a card of its own, and leaves the earlier one as it ended", () => {
    const state = twice();
    expect(state.items).toEqual([
      { kind: "call", id: CALL, under: null },
      { kind: "call", id: "op_2", under: null },
    ]);
    expect(callOf(state).status).toBe("success");
    expect(state.calls.get("op_2")).toMatchObject({ status: "waiting", toolCallId: TOOL_CALL });
  });

  it("gives each its own live output", () => {
    const state = reduce(begun(), [
      golden("tool_call_started", { ...again, seq: 3 }),
      output(0, "first"),
      output(0, "second", { operation_id: "op_2" }),
    ]);
    expect(callOf(state).output.map((piece) => piece.text)).toEqual(["first"]);
    expect(state.calls.get("op_2")?.output.map((piece) => piece.text)).toEqual(["second"]);
  });

  it("keeps a sub-agent's call inside of its own delegation, even under the same id", () => {
    const inner = golden("tool_call_started", {
      operation_id: "op_3",
      parent_tool_call_id: TOOL_CALL,
      run_id: "run_2",
    });
    const state = reduce(
      EMPTY,
      log(golden("tool_call_started"), golden("subagent_started"), inner),
    );
    expect(state.items).toMatchObject([{ kind: "call", id: CALL }]);
    expect(callOf(state).inner).toEqual([{ kind: "call", id: "op_3" }]);
  });
});

describe("live output", () => {
  it("is put together, and seen twice only once", () => {
    const state = reduce(begun(), [output(0, "a"), output(1, "b"), output(0, "a"), output(1, "b")]);
    expect(callOf(state).output).toEqual([{ stream: "stdout", text: "ab", gap: false }]);
  });

  it("shows that something was dropped", () => {
    const state = reduce(begun(), [output(0, "a"), output(5, "f")]);
    expect(callOf(state).output.map((piece) => piece.gap)).toEqual([false, true]);
  });

  it("is replaced by a snapshot after a reconnect", () => {
    const state = reduce(begun(), [
      output(0, "old"),
      output(4, "whole so far", { snapshot: true, chunk_to: 9 }),
      output(7, "seen"),
      output(9, "!"),
    ]);
    expect(
      callOf(state)
        .output.map((piece) => piece.text)
        .join(""),
    ).toBe("whole so far!");
  });

  it("keeps its newest part within a bound", () => {
    const state = reduce(begun(), [output(0, "x".repeat(MAX_LIVE)), output(1, "end")]);
    const text = callOf(state)
      .output.map((piece) => piece.text)
      .join("");
    expect(text).toHaveLength(MAX_LIVE);
    expect(text.endsWith("end")).toBe(true);
  });

  it("of a call that is not known does no harm", () => {
    expect(reduce(EMPTY, [output(0, "a")]).calls.size).toBe(0);
  });
});

describe("a message that is being written", () => {
  it("grows, and gives way to the whole one", () => {
    const writing = reduce(EMPTY, [golden("run_started"), delta(0, "Gr"), delta(1, "üße")]);
    expect(writing.drafts.get("msg_1")?.text).toBe("Grüße");
    const whole = reduce(writing, [golden("message_completed")]);
    expect(whole.drafts.size).toBe(0);
    expect(whole.messages.get("msg_1")?.role).toBe("assistant");
  });

  it("is not brought back by a delta that comes late", () => {
    const state = reduce(EMPTY, [golden("message_completed"), delta(0, "late")]);
    expect(state.drafts.size).toBe(0);
  });

  it("is dropped when its run ends without it", () => {
    const state = reduce(EMPTY, [golden("run_started"), delta(0, "half"), golden("run_finished")]);
    expect(state.drafts.size).toBe(0);
    expect(state.runs.get(RUN)?.status).toBe("error");
  });

  it("is void when another process goes on with the run", () => {
    const resumed = golden("run_started", { type: "run_resumed", seq: 2 });
    const state = reduce(EMPTY, [golden("run_started"), delta(0, "half"), resumed]);
    expect(state.drafts.size).toBe(0);
  });
});

describe("the position", () => {
  it("does not go back: old events are ignored", () => {
    const events = log(golden("run_started"), golden("tool_call_started"));
    const state = reduce(EMPTY, events);
    expect(reduce(state, events)).toEqual(state);
  });

  it("ignores events that a later version has added", () => {
    const unknown = {
      ...golden("run_started"),
      type: "weather_changed",
    } as unknown as SessionEvent;
    const state = reduce(EMPTY, [unknown]);
    expect(state.seq).toBe(1);
    expect(state.items).toEqual([]);
  });

  it("leaves alone what no event touched", () => {
    const before = begun();
    const after = reduce(before, [golden("process_ended", { seq: 3 })]);
    expect(after.calls.get(CALL)).toBe(before.calls.get(CALL));
    expect(before.items).toHaveLength(1);
  });
});

describe("what the service says is open", () => {
  const subscribed = (fields: Record<string, unknown>) =>
    ({ type: "subscribed", recovered: true, ...fields }) as unknown as Subscribed;

  it("brings a confirmation back", () => {
    const state = reconcile(
      EMPTY,
      subscribed({ pending_confirmations: [golden("tool_confirmation_request")] }),
    );
    expect(state.confirmations.get("cfm_1")?.outcome).toBe("pending");
  });

  it("does not bring back what has been answered", () => {
    const answered = reduce(
      EMPTY,
      log(golden("tool_confirmation_request"), golden("tool_confirmation_resolved")),
    );
    const state = reconcile(
      answered,
      subscribed({ pending_confirmations: [golden("tool_confirmation_request")] }),
    );
    expect(state.confirmations.get("cfm_1")?.outcome).toBe("approved");
  });
});
