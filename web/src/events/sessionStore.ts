/** The sessions that this page shows, each fed from the log and then live. */
import { createStore, type StoreApi } from "zustand/vanilla";
import { ApiError, api, data } from "../api/client";
import type { Connection } from "./connection";
import { type DurableEvent, isDurable, type SessionEvent, type Subscribed } from "./messages";
import { EMPTY, type SessionState } from "./model";
import { reconcile, reduce } from "./reduce";

export interface Opened {
  session: SessionState;
  loading: boolean;
  error: ApiError | null;
  /** Whether the session has earlier events that are not loaded. */
  partial: boolean;
}

interface Page {
  epoch: string;
  head: number;
  events: DurableEvent[];
}

const PAGE = 1000;
/** Events that are loaded before the session is shown. */
const NEWEST = 300;
/** How often a page that nobody sees takes in what came. */
const HIDDEN_MS = 200;

/** One session: loads the end of its log, follows it, and gathers events so that a frame draws once. */
export class SessionFeed {
  readonly store: StoreApi<Opened> = createStore(() => ({
    session: EMPTY,
    loading: true,
    error: null,
    partial: false,
  }));
  private queue: SessionEvent[] = [];
  private scheduled = false;
  private unwatch: (() => void) | null = null;
  private closed = false;
  /** While the session is partial: its loaded events, in order. */
  private loaded: DurableEvent[] = [];
  private completing: Promise<void> | null = null;

  constructor(
    readonly id: string,
    private readonly connection: Connection,
  ) {}

  /** Load the end, then follow; again when the place in the log was lost. */
  async open(): Promise<void> {
    this.unwatch?.();
    this.unwatch = null;
    this.queue = [];
    this.completing = null;
    this.store.setState({ loading: true, error: null, partial: false });
    try {
      const session = await this.load();
      if (this.closed) return;
      this.store.setState({ session, loading: false, partial: this.loaded.length > 0 });
      const epoch = session.epoch ?? undefined;
      const place = { after: session.seq, ...(epoch === undefined ? {} : { epoch }) };
      this.unwatch = this.connection.watch(this.id, place, (message) => this.take(message));
      if (needsEarlier(this.loaded)) await this.complete();
    } catch (error) {
      if (!this.closed) this.store.setState({ loading: false, error: asApiError(error) });
    }
  }

  /** Load everything that is earlier; rejects if that fails. */
  complete(): Promise<void> {
    if (!this.store.getState().partial) return Promise.resolve();
    this.completing ??= this.loadEarlier().finally(() => {
      this.completing = null;
    });
    return this.completing;
  }

  close(): void {
    this.closed = true;
    this.unwatch?.();
  }

  private async load(): Promise<SessionState> {
    const newest = await this.page({ newest: true, limit: NEWEST });
    const first = newest.events[0]?.seq ?? 1;
    this.loaded = first > 1 ? newest.events : [];
    return { ...reduce(EMPTY, newest.events), epoch: newest.epoch };
  }

  private async loadEarlier(): Promise<void> {
    const { loaded } = this;
    const earlier = await this.until(loaded[0]?.seq ?? 1);
    // Opened again meanwhile: that has other events.
    if (this.closed || this.loaded !== loaded) return;
    this.flush();
    const { session } = this.store.getState();
    const whole = reduce({ ...EMPTY, epoch: session.epoch }, [...earlier, ...loaded]);
    this.loaded = [];
    this.store.setState({ session: withLive(whole, session), partial: false });
  }

  /** The events before `seq`. */
  private async until(seq: number): Promise<DurableEvent[]> {
    const events: DurableEvent[] = [];
    while (!this.closed) {
      const after = events.at(-1)?.seq ?? 0;
      if (after >= seq - 1) break;
      const page = await this.page({ after, limit: Math.min(PAGE, seq - 1 - after) });
      if (page.events.length === 0) break;
      events.push(...page.events);
    }
    return events;
  }

  private async page(query: { after?: number; limit: number; newest?: boolean }): Promise<Page> {
    return (await data(
      api.GET("/api/v1/sessions/{session_id}/events", {
        params: { path: { session_id: this.id }, query },
      }),
    )) as unknown as Page;
  }

  private take(message: SessionEvent | Subscribed): void {
    if (message.type === "subscribed") {
      this.flush();
      if (!message.recovered) void this.open();
      else {
        const session = reconcile(this.store.getState().session, message);
        this.store.setState({ session: { ...session, epoch: message.epoch } });
      }
      return;
    }
    this.queue.push(message);
    // A fact that somebody waits for is worth a frame of its own only when nothing else comes.
    if (this.scheduled) return;
    this.scheduled = true;
    if (document.hidden) setTimeout(() => this.flush(), isDurable(message) ? 0 : HIDDEN_MS);
    else requestAnimationFrame(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    if (this.queue.length === 0) return;
    const events = this.queue;
    this.queue = [];
    if (this.loaded.length > 0) this.loaded.push(...events.filter(isDurable));
    this.store.setState(({ session }) => ({ session: reduce(session, events) }));
  }
}

/**
 * Whether the end of a log says too little without what is before it: about a run that began
 * earlier and has not ended, or about the branches of the conversation.
 */
function needsEarlier(events: readonly DurableEvent[]): boolean {
  const known = new Set<string>();
  for (const event of events) {
    if (event.type === "session_branched") return true;
    if (event.type === "run_started" || event.type === "run_finished")
      known.add(event.run_id ?? "");
    if (event.type === "subagent_started" || event.type === "subagent_finished")
      known.add(event.child_run_id);
  }
  return events.some((event) => event.run_id != null && !known.has(event.run_id));
}

/** What was only sent live about messages and calls that are not finished. */
function withLive(whole: SessionState, shown: SessionState): SessionState {
  const calls = new Map(whole.calls);
  for (const [id, { status, output, nextChunk, progress }] of shown.calls) {
    const call = calls.get(id);
    if (call !== undefined && (status === "running" || status === "waiting"))
      calls.set(id, { ...call, output, nextChunk, progress });
  }
  return { ...whole, calls, drafts: shown.drafts };
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError({ code: "unexpected", detail: String(error) }, 0);
}
