/**
 * A client of `tollgate.v1` that survives a lost connection.
 *
 * After a loss it connects again, sends again what nobody answered (ids make that harmless),
 * and resumes each session behind the last event it gave out: none is lost, none comes twice.
 */
import { ApiError } from "../api/client";
import { ROOT } from "../api/root";
import {
  type ErrorBody,
  type InboxMessage,
  isDurable,
  type ServerMessage,
  type SessionEvent,
  type Subscribed,
} from "./messages";

export type ConnectionState = "connecting" | "connected" | "lost" | "refused";
export type Watcher = (message: SessionEvent | Subscribed) => void;
export type InboxWatcher = (message: InboxMessage) => void;
type Frame = { v: 1; type: string; id: string } & Record<string, unknown>;

interface Position {
  epoch: string | undefined;
  seq: number;
  /** The `subscribe` that has no answer yet: what it brings fills every gap. */
  asked: string | null;
  watchers: Set<Watcher>;
}

interface Waiting {
  frame: Frame;
  resolve: (result: Record<string, unknown>) => void;
  reject: (error: Error) => void;
}

/** What the connection needs of its surroundings; tests give it others. */
export interface Surroundings {
  open: (url: string, protocols: string[]) => WebSocket;
  url: () => string;
  random: () => number;
}

const PROTOCOL = "tollgate.v1";
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const MISSED_HEARTBEATS = 2.4;
const ANSWER_MS = 60_000;
const UNREADABLE = 4000;
/** As the service's own codes: our rights have ended. */
const OTHER_PERSON = 4599;

const browser: Surroundings = {
  open: (url, protocols) => new WebSocket(url, protocols),
  url: () => `${location.origin.replace(/^http/, "ws")}${ROOT}/api/v1/ws`,
  random: Math.random,
};

export class Connection {
  private socket: WebSocket | null = null;
  private greeting = "";
  private greeted = false;
  private attempt = 0;
  private pauseMs = 0;
  private heartbeatMs = 25_000;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private readonly waiting = new Map<string, Waiting>();
  private readonly positions = new Map<string, Position>();
  private inbox: { watcher: InboxWatcher; cursor: string | undefined } | null = null;
  private readonly listeners = new Set<(state: ConnectionState, code: number) => void>();
  private stopped = true;
  private owner = "";
  state: ConnectionState = "connecting";

  constructor(private readonly around: Surroundings = browser) {}

  /**
   * Connect, and stay connected until `stop`.
   *
   * @param owner whose connection it is: what waits is never sent as somebody else's word, who
   *   has signed in meanwhile in another tab.
   */
  start(owner: string): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.owner = owner;
    this.connect();
  }

  /** Leave. Runs go on without us: a lost socket is no cancel. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.retry);
    clearTimeout(this.watchdog);
    this.socket?.close(1000);
    this.socket = null;
    this.failAll(new ApiError({ code: "connection_closed" }, 0));
    this.positions.clear();
  }

  /** Do not wait for the next attempt: the person, or the network, says that it may work now. */
  retryNow(): void {
    if (this.stopped || this.socket !== null) return;
    clearTimeout(this.retry);
    this.connect();
  }

  onState(listener: (state: ConnectionState, code: number) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Send a command; the result of its `ack`.
   *
   * Rejects with an ApiError when the service refuses it, or when no answer came.
   */
  command(
    type: string,
    fields: Record<string, unknown>,
    id: string = newCommandId(),
  ): Promise<Record<string, unknown>> {
    const frame: Frame = { v: 1, type, id, ...fields };
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.waiting.delete(frame.id);
        reject(new ApiError({ code: "unanswered", retryable: true }, 0));
      }, ANSWER_MS);
      this.waiting.set(frame.id, {
        frame,
        resolve: (result) => {
          clearTimeout(late);
          resolve(result);
        },
        reject: (error) => {
          clearTimeout(late);
          reject(error);
        },
      });
      this.send(frame);
    });
  }

  /** Watch a session from behind `after`; the function ends it. */
  watch(sessionId: string, place: { epoch?: string; after: number }, watcher: Watcher): () => void {
    let position = this.positions.get(sessionId);
    if (position === undefined) {
      position = { epoch: place.epoch, seq: place.after, asked: null, watchers: new Set() };
      this.positions.set(sessionId, position);
      this.catchUp(sessionId, position);
    }
    const kept = position;
    kept.watchers.add(watcher);
    return () => {
      kept.watchers.delete(watcher);
      if (kept.watchers.size === 0 && this.positions.get(sessionId) === kept) {
        this.positions.delete(sessionId);
        this.send({
          v: 1,
          type: "unsubscribe",
          id: newCommandId(),
          session_id: sessionId,
        });
      }
    };
  }

  /** Watch pending requests; the returned function stops. One watcher at a time. */
  watchInbox(watcher: InboxWatcher): () => void {
    const inbox = { watcher, cursor: undefined };
    this.inbox = inbox;
    this.askForInbox();
    return () => {
      if (this.inbox !== inbox) return;
      this.inbox = null;
      this.send({ v: 1, type: "unsubscribe_inbox", id: newCommandId() });
    };
  }

  private connect(): void {
    this.change("connecting", 0);
    const socket = this.around.open(this.around.url(), [PROTOCOL]);
    this.socket = socket;
    this.greeted = false;
    socket.onopen = () => {
      this.greeting = newCommandId();
      socket.send(
        JSON.stringify({ v: 1, type: "hello", id: this.greeting, client: "tollgate-web" }),
      );
      this.watchSilence();
    };
    socket.onmessage = (message) => {
      if (socket !== this.socket) return;
      this.watchSilence();
      const read = parse(message.data);
      if (read !== null) {
        this.take(read);
        return;
      }
      // What it said is lost: the next connection resumes behind the last that was read.
      this.lost(UNREADABLE);
      socket.close(UNREADABLE);
    };
    socket.onclose = (event) => {
      if (socket === this.socket) this.lost(event.code);
    };
  }

  private lost(code: number): void {
    this.socket = null;
    this.greeted = false;
    clearTimeout(this.watchdog);
    if (this.stopped) return;
    if (code >= 4500 && code < 5000) {
      this.refused(code);
      return;
    }
    const delay =
      this.around.random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.attempt);
    this.attempt = Math.min(this.attempt + 1, 10);
    const pause = Math.max(delay, this.pauseMs);
    this.pauseMs = 0;
    this.change("lost", code);
    this.retry = setTimeout(() => this.connect(), pause);
  }

  /** Browsers do not show pings to a page: a heartbeat that stays away is a lost connection. */
  private watchSilence(): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      const socket = this.socket;
      this.lost(4002);
      socket?.close(4002);
    }, this.heartbeatMs * MISSED_HEARTBEATS);
  }

  private take(message: ServerMessage): void {
    switch (message.type) {
      case "ready":
        if (message.user_id !== this.owner) {
          const socket = this.socket;
          this.socket = null;
          clearTimeout(this.watchdog);
          socket?.close(1000);
          this.refused(OTHER_PERSON);
          return;
        }
        this.heartbeatMs = message.heartbeat_ms;
        this.attempt = 0;
        this.greeted = true;
        this.change("connected", 0);
        this.resume();
        return;
      case "ack":
        this.answer(message.ref, message.result ?? {});
        return;
      case "error":
        if (message.ref != null) {
          this.refuse(message.ref, message.error);
          this.refuseToWatch(message.ref);
        }
        return;
      case "subscribed":
        this.subscribed(message);
        return;
      case "heartbeat":
        this.compare(message.heads as Record<string, number>);
        return;
      case "inbox":
      case "inbox_changed":
        if (this.inbox !== null) {
          this.inbox.cursor = message.cursor;
          this.inbox.watcher(message);
        }
        return;
      case "going_away":
        this.pauseMs = message.reconnect_after_ms;
        return;
      default:
        this.event(message);
    }
  }

  private event(event: SessionEvent): void {
    const position = this.positions.get(event.session_id);
    if (position === undefined) return;
    if (isDurable(event)) {
      const same = event.epoch === position.epoch;
      if (same && event.seq <= position.seq) return;
      if (!same || event.seq !== position.seq + 1) {
        if (position.asked === null) this.catchUp(event.session_id, position);
        return;
      }
      position.seq = event.seq;
    }
    for (const watcher of position.watchers) watcher(event);
  }

  private subscribed(message: Subscribed): void {
    const position = this.positions.get(message.session_id);
    if (position === undefined) return;
    position.asked = null;
    position.epoch = message.epoch;
    // The events in between come no more: who watches loads the session anew.
    if (!message.recovered) position.seq = message.head;
    for (const watcher of position.watchers) watcher(message);
  }

  private catchUp(sessionId: string, position: Position): void {
    position.asked = newCommandId();
    this.send({
      v: 1,
      type: "subscribe",
      id: position.asked,
      session_id: sessionId,
      after: position.seq,
      ...(position.epoch === undefined ? {} : { epoch: position.epoch }),
    });
  }

  private resume(): void {
    for (const [sessionId, position] of this.positions) this.catchUp(sessionId, position);
    this.askForInbox();
    for (const { frame } of this.waiting.values()) this.send(frame);
  }

  private askForInbox(): void {
    if (this.inbox === null) return;
    const { cursor } = this.inbox;
    const after = cursor === undefined ? {} : { after: cursor };
    this.send({ v: 1, type: "subscribe_inbox", id: newCommandId(), ...after });
  }

  private compare(heads: Record<string, number>): void {
    for (const [sessionId, head] of Object.entries(heads)) {
      const position = this.positions.get(sessionId);
      if (position !== undefined && head > position.seq && position.asked === null) {
        this.catchUp(sessionId, position);
      }
    }
  }

  /** Send now, or leave it to the next connection, which resumes. */
  private send(frame: Frame): void {
    if (this.greeted && this.socket?.readyState === 1) this.socket.send(JSON.stringify(frame));
  }

  private answer(ref: string, result: Record<string, unknown>): void {
    const waiting = this.waiting.get(ref);
    this.waiting.delete(ref);
    waiting?.resolve(result);
  }

  private refuse(ref: string, error: ErrorBody): void {
    const waiting = this.waiting.get(ref);
    this.waiting.delete(ref);
    waiting?.reject(
      new ApiError(
        {
          code: error.code,
          detail: error.message,
          retryable: error.retryable ?? false,
          details: error.details ?? {},
        },
        0,
      ),
    );
  }

  /** Too many at once, say: the next heartbeat that tells of more asks again. */
  private refuseToWatch(ref: string): void {
    for (const position of this.positions.values()) {
      if (position.asked === ref) position.asked = null;
    }
  }

  /** It does not connect again by itself: who we are has to be asked first. */
  private refused(code: number): void {
    this.failAll(new ApiError({ code: "connection_refused" }, 0));
    this.change("refused", code);
  }

  private failAll(error: ApiError): void {
    for (const waiting of this.waiting.values()) waiting.reject(error);
    this.waiting.clear();
  }

  private change(state: ConnectionState, code: number): void {
    this.state = state;
    for (const listener of this.listeners) listener(state, code);
  }
}

export const newCommandId = (): string => `cmd_${crypto.randomUUID()}`;

function parse(data: unknown): ServerMessage | null {
  try {
    return JSON.parse(String(data)) as ServerMessage;
  } catch {
    return null;
  }
}
