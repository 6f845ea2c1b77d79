/** A session is shown from its end; what is before it is loaded when somebody needs it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError } from "../src/api/client";
import type { Connection } from "../src/events/connection";
import type { DurableEvent, SessionEvent, Subscribed } from "../src/events/messages";
import { SessionFeed } from "../src/events/sessionStore";
import { golden, log } from "./golden";

type Query = { after?: number; limit: number; newest?: boolean };

const get = vi.hoisted(() => vi.fn());
vi.mock("../src/api/client", async (original) => ({
  ...(await original<typeof import("../src/api/client")>()),
  api: { GET: get },
}));

const SESSION = golden("run_started").session_id;

/** One run of four events: its start, a message, a call without an end, its end. */
function run(number: number, ended = true): DurableEvent[] {
  const run_id = `run_${number}`;
  const events = [
    golden("run_started", { run_id }),
    golden("message_completed", { run_id, message_id: `msg_${number}`, role: "user" }),
    golden("tool_call_started", {
      run_id,
      operation_id: `op_${number}`,
      tool_call_id: `c${number}`,
    }),
  ] as DurableEvent[];
  return ended ? [...events, golden("run_finished", { run_id })] : events;
}

const runs = (count: number) => Array.from({ length: count }, (_, number) => run(number)).flat();

let asked: Query[];
let fails: boolean;

/** Serve a log as the service does. */
function serve(events: readonly DurableEvent[]): void {
  asked = [];
  fails = false;
  get.mockImplementation(async (_: string, options: { params: { query: Query } }) => {
    const { query } = options.params;
    asked.push(query);
    if (fails) throw new ApiError({ code: "unavailable" }, 503);
    const head = events.length;
    const after = query.newest === true ? Math.max(0, head - query.limit) : (query.after ?? 0);
    const page = events.slice(after, after + query.limit);
    return { data: { epoch: golden("run_started").epoch, head, events: page } };
  });
}

/** A connection whose other end is the test. */
class Wire {
  place: { after: number } | null = null;
  give: (message: SessionEvent | Subscribed) => void = () => undefined;

  watch(_: string, place: { after: number }, take: typeof this.give): () => void {
    this.place = place;
    this.give = take;
    return () => undefined;
  }
}

function feedOf(wire: Wire): SessionFeed {
  return new SessionFeed(SESSION, wire as unknown as Connection);
}

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => {
    draw();
    return 0;
  });
});
afterEach(() => vi.unstubAllGlobals());

it("loads a short session at once", async () => {
  serve(log(...runs(3)));
  const feed = feedOf(new Wire());
  await feed.open();
  const { session, partial, loading } = feed.store.getState();
  expect([session.seq, session.runs.size, partial, loading]).toEqual([12, 3, false, false]);
  expect(asked).toHaveLength(1);
  await feed.complete();
  expect(asked).toHaveLength(1);
});

it("shows the end of a long session, follows it, and loads the rest on demand", async () => {
  const events = log(...runs(600));
  serve(events);
  const wire = new Wire();
  const feed = feedOf(wire);
  await feed.open();
  expect(feed.store.getState()).toMatchObject({ partial: true, loading: false });
  expect(feed.store.getState().session.runs.size).toBe(75);
  expect(wire.place).toMatchObject({ after: 2400 });
  expect(asked).toHaveLength(1);

  const more = log(...events, ...run(600, false)).slice(2400);
  for (const event of more) wire.give(event);
  const output = {
    v: 1,
    type: "tool_result_streamed",
    ts: "2026-01-01T00:00:00.000Z",
    session_id: SESSION,
    epoch: golden("run_started").epoch,
    after_seq: 2403,
    tool_call_id: "c600",
    operation_id: "op_600",
    stream: "stdout",
    chunk_from: 0,
    chunk_to: 1,
    text: "so far",
    snapshot: false,
  } as unknown as SessionEvent;
  wire.give(output);
  await Promise.all([feed.complete(), feed.complete()]);

  const { session, partial } = feed.store.getState();
  expect([session.seq, session.runs.size, session.active, partial]).toEqual([
    2403,
    601,
    ["run_600"],
    false,
  ]);
  expect(session.calls.get("op_600")?.output[0]?.text).toBe("so far");
  expect(session.items).toHaveLength(600 * 3 + 2);
  expect(session.parents.get("msg_525")).toBe("msg_524");
  // Once, in pages, and nothing twice.
  expect(asked).toEqual([
    { newest: true, limit: 300 },
    { after: 0, limit: 1000 },
    { after: 1000, limit: 1000 },
    { after: 2000, limit: 100 },
  ]);
});

it("loads the rest by itself when the end does not say what is active", async () => {
  const open = run(0, false);
  const calls = Array.from({ length: 500 }, (_, number) =>
    golden("tool_call_started", { run_id: "run_0", operation_id: `op_${number}` }),
  ) as DurableEvent[];
  serve(log(...open, ...calls));
  const feed = feedOf(new Wire());
  await feed.open();
  const { session, partial } = feed.store.getState();
  expect([session.active, session.calls.size, partial]).toEqual([["run_0"], 500, false]);
});

it("loads the rest by itself when the conversation has branches", async () => {
  const branched = golden("session_branched", { message_id: "msg_1" }) as DurableEvent;
  serve(log(...runs(200), branched, ...run(200)));
  const feed = feedOf(new Wire());
  await feed.open();
  const { session, partial } = feed.store.getState();
  expect(partial).toBe(false);
  expect(session.parents.get("msg_200")).toBe("msg_1");
});

it("keeps what is shown when the rest can't be loaded, and tries again", async () => {
  serve(log(...runs(100)));
  const feed = feedOf(new Wire());
  await feed.open();
  fails = true;
  await expect(feed.complete()).rejects.toMatchObject({ status: 503 });
  expect(feed.store.getState()).toMatchObject({ partial: true, error: null });
  fails = false;
  await feed.complete();
  expect(feed.store.getState().session.runs.size).toBe(100);
});

it("forgets what it had loaded when it is opened again", async () => {
  serve(log(...runs(100)));
  const feed = feedOf(new Wire());
  await feed.open();
  const completing = feed.complete();
  await feed.open();
  await completing;
  expect(feed.store.getState()).toMatchObject({ partial: true });
  expect(feed.store.getState().session.runs.size).toBe(75);
});
