/** A session as a page needs it. */
import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState } from "react";
import { useStore } from "zustand";
import type { ApiError } from "../api/client";
import { EMPTY, type SessionState } from "../events/model";
import { type Opened, SessionFeed } from "../events/sessionStore";
import { useConnection } from "../shell/identity";
import { forget } from "./outbox";
import { SESSIONS } from "./sessions";

/** Follow a session for as long as the page shows it. */
export function useFeed(sessionId: string): SessionFeed {
  const connection = useConnection();
  const queries = useQueryClient();
  const [feed, setFeed] = useState(() => new SessionFeed(sessionId, connection));
  useEffect(() => {
    // Strict about its life: a feed that was closed is not opened again.
    const fresh = new SessionFeed(sessionId, connection);
    setFeed(fresh);
    let runs = 0;
    const off = fresh.store.subscribe(({ session, loading }) => {
      forget(connection, session.echoed);
      // A run has begun or ended: the list's order, and the first title, may be others.
      const now = session.runs.size * 2 - session.active.length;
      if (!loading && now !== runs) {
        runs = now;
        void queries.invalidateQueries({ queryKey: SESSIONS });
        void queries.invalidateQueries({ queryKey: ["session", sessionId] });
      }
    });
    void fresh.open();
    return () => {
      off();
      fresh.close();
    };
  }, [sessionId, connection, queries]);
  return feed;
}

const FeedContext = createContext<SessionFeed | null>(null);
export const FeedProvider = FeedContext.Provider;

export function useThisFeed(): SessionFeed {
  const feed = useContext(FeedContext);
  if (feed === null) throw new Error("FeedProvider is missing");
  return feed;
}

/** A part of the session; who uses it is drawn again when that part changes. */
export function useSession<T>(select: (session: SessionState) => T): T {
  return useStore(useThisFeed().store, ({ session }: Opened) => select(session ?? EMPTY));
}

/** Whether the session has earlier entries that are not loaded. */
export function usePartial(): boolean {
  return useStore(useThisFeed().store, ({ partial }: Opened) => partial);
}

export function useOpening(feed: SessionFeed): { loading: boolean; error: ApiError | null } {
  const loading = useStore(feed.store, (state) => state.loading);
  const error = useStore(feed.store, (state) => state.error);
  return { loading, error };
}
