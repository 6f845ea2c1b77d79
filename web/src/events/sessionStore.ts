/** The sessions that this page shows, each fed from the log and then live. */
import { createStore, type StoreApi } from "zustand/vanilla";
import { ApiError, api, data } from "../api/client";
import type { Connection } from "./connection";
import { isDurable, type SessionEvent, type Subscribed } from "./messages";
import { EMPTY, type SessionState } from "./model";
import { reconcile, reduce } from "./reduce";

export interface Opened {
  session: SessionState;
  loading: boolean;
  error: ApiError | null;
}

const PAGE = 1000;
/** How often a page that nobody sees takes in what came. */
const HIDDEN_MS = 200;

/** One session: loads its log, follows it, and gathers events so that a frame draws once. */
export class SessionFeed {
  readonly store: StoreApi<Opened> = createStore(() => ({
    session: EMPTY,
    loading: true,
    error: null,
  }));
  private queue: SessionEvent[] = [];
  private scheduled = false;
  private unwatch: (() => void) | null = null;
  private closed = false;

  constructor(
    readonly id: string,
    private readonly connection: Connection,
  ) {}

  /** Load everything, then follow; again when the place in the log was lost. */
  async open(): Promise<void> {
    this.unwatch?.();
    this.unwatch = null;
    this.queue = [];
    this.store.setState({ loading: true, error: null });
    try {
      const session = await this.load();
      if (this.closed) return;
      this.store.setState({ session, loading: false });
      const epoch = session.epoch ?? undefined;
      const place = { after: session.seq, ...(epoch === undefined ? {} : { epoch }) };
      this.unwatch = this.connection.watch(this.id, place, (message) => this.take(message));
    } catch (error) {
      if (!this.closed) this.store.setState({ loading: false, error: asApiError(error) });
    }
  }

  close(): void {
    this.closed = true;
    this.unwatch?.();
  }

  private async load(): Promise<SessionState> {
    let state = EMPTY;
    for (;;) {
      const page = (await data(
        api.GET("/api/v1/sessions/{session_id}/events", {
          params: { path: { session_id: this.id }, query: { after: state.seq, limit: PAGE } },
        }),
      )) as { epoch: string; head: number; events: SessionEvent[] };
      state = { ...reduce(state, page.events), epoch: page.epoch };
      if (state.seq >= page.head || page.events.length === 0 || this.closed) return state;
    }
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
    this.store.setState(({ session }) => ({ session: reduce(session, events) }));
  }
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError({ code: "unexpected", detail: String(error) }, 0);
}
