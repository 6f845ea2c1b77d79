/** The list of sessions, and what is done to them. */
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, data, type Schemas } from "../api/client";

export type SessionView = Schemas["SessionView"];
export const SESSIONS = ["sessions"] as const;

export function useSessions() {
  return useInfiniteQuery({
    queryKey: SESSIONS,
    queryFn: ({ pageParam }) =>
      data(
        api.GET("/api/v1/sessions", {
          params: { query: { limit: 60, ...(pageParam === "" ? {} : { before: pageParam }) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_before ?? undefined,
  });
}

export function useRename() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, title }: { id: string; title: string }) =>
      data(
        api.PATCH("/api/v1/sessions/{session_id}", {
          params: { path: { session_id: id } },
          body: { title },
        }),
      ),
    onSuccess: (session) => {
      queries.setQueryData(["session", session.id], session);
      return queries.invalidateQueries({ queryKey: SESSIONS });
    },
  });
}

export function createSession(fields: Schemas["NewSession"]): Promise<SessionView> {
  return data(api.POST("/api/v1/sessions", { body: fields }));
}

/** Sessions by how long ago they were used: today, this week, earlier. */
export function byAge(
  sessions: readonly SessionView[],
  now: Date,
): readonly ["today" | "week" | "earlier", SessionView[]][] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const week = midnight - 6 * 86_400_000;
  const groups: ["today" | "week" | "earlier", SessionView[]][] = [
    ["today", []],
    ["week", []],
    ["earlier", []],
  ];
  for (const session of sessions) {
    const used = new Date(session.updated_at).getTime();
    const index = used >= midnight ? 0 : used >= week ? 1 : 2;
    groups[index]?.[1].push(session);
  }
  return groups.filter(([, members]) => members.length > 0);
}
