import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection } from "../src/events/connection";
import { golden } from "./golden";

type Frame = Record<string, unknown> & { type: string; id: string };

/** A socket whose other end is the test. */
class Wire {
  static readonly all: Wire[] = [];
  readyState = 0;
  sent: Frame[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  constructor() {
    Wire.all.push(this);
  }

  send(data: string) {
    this.sent.push(JSON.parse(data));
  }

  close() {
    this.readyState = 3;
  }

  greet(user = "ann") {
    this.readyState = 1;
    this.onopen?.();
    this.give({ type: "ready", user_id: user, heartbeat_ms: 25_000 });
  }

  give(message: Record<string, unknown>) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  drop(code = 1006) {
    this.readyState = 3;
    this.onclose?.({ code });
  }

  of(type: string): Frame[] {
    return this.sent.filter((frame) => frame.type === type);
  }
}

const SESSION = golden("run_started").session_id;
const EPOCH = golden("run_started").epoch;
const event = (seq: number, more: Record<string, unknown> = {}) => ({
  ...golden("run_started"),
  seq,
  ...more,
});
const subscribed = (fields: Record<string, unknown>) => ({
  type: "subscribed",
  session_id: SESSION,
  epoch: EPOCH,
  recovered: true,
  head: 0,
  ...fields,
});
const wire = (index = -1): Wire => {
  const found = Wire.all.at(index);
  if (found === undefined) throw new Error("no connection was opened");
  return found;
};

let connection: Connection;

beforeEach(() => {
  vi.useFakeTimers();
  Wire.all.length = 0;
  connection = new Connection({
    open: () => new Wire() as unknown as WebSocket,
    url: () => "ws://here/api/v1/ws",
    random: () => 1,
  });
  connection.start("ann");
  wire().greet();
});

afterEach(() => {
  connection.stop();
  vi.useRealTimers();
});

function watch(after = 0) {
  const seen: number[] = [];
  const off = connection.watch(SESSION, { epoch: EPOCH, after }, (message) => {
    if ("seq" in message) seen.push(message.seq);
  });
  return { seen, off };
}

describe("the inbox", () => {
  const changed = (cursor: string) => ({ type: "inbox_changed", cursor, state: "opened" });

  it("is asked for again behind its last message after a loss", () => {
    const seen: string[] = [];
    const off = connection.watchInbox((message) => seen.push(message.cursor));
    expect(wire().of("subscribe_inbox")).toHaveLength(1);
    expect(wire().of("subscribe_inbox")[0]).not.toHaveProperty("after");
    wire().give({ type: "inbox", cursor: "ibx_1", recovered: false, entries: [] });
    wire().give(changed("ibx_2"));
    wire().drop();
    vi.advanceTimersByTime(500);
    wire().greet();
    expect(wire().of("subscribe_inbox")).toMatchObject([{ after: "ibx_2" }]);
    off();
    expect(wire().of("unsubscribe_inbox")).toHaveLength(1);
    wire().give(changed("ibx_3"));
    expect(seen).toEqual(["ibx_1", "ibx_2"]);
  });
});

describe("a watched session", () => {
  it("gives each event once, whatever comes twice", () => {
    const { seen } = watch();
    for (const seq of [1, 2, 2, 1, 3]) wire().give(event(seq));
    expect(seen).toEqual([1, 2, 3]);
  });

  it("asks again from its place when something is missing", () => {
    const { seen } = watch();
    wire().give(subscribed({}));
    wire().give(event(1));
    wire().give(event(4));
    expect(wire().of("subscribe").at(-1)).toMatchObject({ after: 1, epoch: EPOCH });
    wire().give(subscribed({ head: 4 }));
    for (const seq of [2, 3, 4]) wire().give(event(seq));
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it("goes on behind the last event after a loss", () => {
    const { seen } = watch();
    wire().give(event(1));
    wire().drop();
    expect(connection.state).toBe("lost");
    vi.advanceTimersByTime(500);
    wire().greet();
    expect(wire().of("subscribe")).toMatchObject([{ session_id: SESSION, after: 1 }]);
    wire().give(event(1));
    wire().give(event(2));
    expect(seen).toEqual([1, 2]);
  });

  it("notices by a heartbeat that something was lost silently", () => {
    watch();
    wire().give(subscribed({}));
    wire().give({ type: "heartbeat", heads: { [SESSION]: 5 } });
    expect(wire().of("subscribe")).toHaveLength(2);
  });

  it("is asked for again when the service refused to show it", () => {
    watch();
    wire().give(subscribed({}));
    wire().give(event(2));
    const [asked] = wire().of("subscribe").slice(-1);
    wire().give({ type: "error", ref: asked?.id, error: { code: "rate_limited", message: "" } });
    wire().give({ type: "heartbeat", heads: { [SESSION]: 2 } });
    expect(wire().of("subscribe")).toHaveLength(3);
  });

  it("is taken up anew when a message could not be read", () => {
    const { seen } = watch();
    wire().give(subscribed({}));
    wire().onmessage?.({ data: '{"type":' });
    expect(connection.state).toBe("lost");
    vi.advanceTimersByTime(1_000);
    wire().greet();
    wire().give(subscribed({ head: 1 }));
    wire().give(event(1));
    expect(seen).toEqual([1]);
  });

  it("is left when nobody watches any more", () => {
    const first = watch();
    const second = watch();
    first.off();
    expect(wire().of("unsubscribe")).toHaveLength(0);
    second.off();
    expect(wire().of("unsubscribe")).toHaveLength(1);
    wire().give(event(1));
    expect(second.seen).toEqual([]);
  });
});

describe("a command", () => {
  it("gets the result of its answer", async () => {
    const answer = connection.command("ping", {});
    const [ping] = wire().of("ping");
    wire().give({ type: "ack", ref: ping?.id, result: { pong: true } });
    await expect(answer).resolves.toEqual({ pong: true });
  });

  it("is sent again under its id when the connection was lost before the answer", async () => {
    const answer = connection.command("user_message", { content: "hi" });
    const before = wire().of("user_message")[0]?.id;
    wire().drop();
    vi.advanceTimersByTime(500);
    wire().greet();
    const again = wire().of("user_message");
    expect(again.map((frame) => frame.id)).toEqual([before]);
    wire().give({ type: "ack", ref: before, result: {}, duplicate: true });
    await expect(answer).resolves.toEqual({});
  });

  it("waits for the connection when there is none", () => {
    wire().drop();
    const answer = connection.command("ping", {});
    answer.catch(() => {});
    vi.advanceTimersByTime(500);
    expect(wire().of("ping")).toHaveLength(0);
    wire().greet();
    expect(wire().of("ping")).toHaveLength(1);
  });

  it("fails with what the service says", async () => {
    const answer = connection.command("ping", {});
    const error = { code: "rate_limited", message: "slowly", retryable: true };
    wire().give({ type: "error", ref: wire().of("ping")[0]?.id, error });
    await expect(answer).rejects.toMatchObject({ code: "rate_limited", retryable: true });
  });

  it("does not wait for ever", async () => {
    const answer = connection.command("ping", {});
    const failed = expect(answer).rejects.toMatchObject({ code: "unanswered" });
    vi.advanceTimersByTime(60_000);
    await failed;
  });
});

describe("the connection", () => {
  it("is tried again, later each time, and at once when it helps", () => {
    wire().drop();
    for (const delay of [500, 1000, 2000]) {
      const before = Wire.all.length;
      vi.advanceTimersByTime(delay - 1);
      expect(Wire.all).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(Wire.all).toHaveLength(before + 1);
      wire().drop();
    }
    const before = Wire.all.length;
    connection.retryNow();
    expect(Wire.all).toHaveLength(before + 1);
  });

  it.each([4501, 4506, 4503])("is not tried again after %i", (code) => {
    wire().drop(code);
    vi.advanceTimersByTime(120_000);
    expect(Wire.all).toHaveLength(1);
    expect(connection.state).toBe("refused");
  });

  it("that is silent for too long is a lost one", () => {
    vi.advanceTimersByTime(25_000 * 2.4);
    expect(connection.state).toBe("lost");
  });

  it("waits as long as a server that goes away wants", () => {
    wire().give({ type: "going_away", reason: "restart", reconnect_after_ms: 5000 });
    wire().drop(1012);
    vi.advanceTimersByTime(4999);
    expect(Wire.all).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(Wire.all).toHaveLength(2);
  });
});

describe("a connection that comes back as somebody else's", () => {
  it("sends nothing of what waited, and says that it is refused", async () => {
    const states: string[] = [];
    connection.onState((state) => states.push(state));
    wire().drop();
    const said = connection.command("user_message", { session_id: SESSION });
    const refused = expect(said).rejects.toMatchObject({ code: "connection_refused" });
    vi.advanceTimersByTime(1000);
    wire().greet("bob");
    await refused;
    expect(wire().of("user_message")).toEqual([]);
    expect(wire().of("subscribe")).toEqual([]);
    expect(states.at(-1)).toBe("refused");
    vi.advanceTimersByTime(120_000);
    expect(Wire.all).toHaveLength(2);
  });
});
