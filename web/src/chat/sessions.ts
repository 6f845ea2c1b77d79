/** The list of sessions, and what is done to them. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { api, data, type Schemas } from "../api/client";

export type SessionView = Schemas["SessionView"];
export const SESSIONS = ["sessions"] as const;

export type SessionHit = Schemas["SessionHit"];
/** As many characters as the service takes. */
export const MOST_SEARCHED = 200;

/** The sessions, or those in which words stand; without words, all of them. */
export function useSessions(search: string) {
  return useInfiniteQuery({
    queryKey: [...SESSIONS, search],
    queryFn: ({ pageParam, signal }) =>
      data(
        api.GET("/api/v1/sessions", {
          params: {
            query: {
              limit: 60,
              ...(pageParam === "" ? {} : { before: pageParam }),
              ...(search === "" ? {} : { q: search }),
            },
          },
          signal,
        }),
      ),
    // What was found stays while the next letter is looked for.
    placeholderData: keepPreviousData,
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

/** What a session's model is asked with, as somebody writes it; "" is what its agent has. */
export interface ModelWords {
  model: string;
  answer: string;
  temperature: string;
}

type ModelSettings = Pick<Schemas["SessionView"], "model" | "max_tokens" | "temperature">;
export const AS_AGENT: ModelWords = { model: "", answer: "", temperature: "" };

export const modelWords = (session: ModelSettings): ModelWords => ({
  model: session.model ?? "",
  answer: session.max_tokens?.toString() ?? "",
  temperature: session.temperature?.toString() ?? "",
});

/** The same for the service: null is what its agent has. */
export const modelSettings = (words: ModelWords) => ({
  model: words.model.trim() || null,
  max_tokens: words.answer.trim() === "" ? null : Number(words.answer),
  temperature: words.temperature.trim() === "" ? null : Number(words.temperature),
});

export function useModelChange(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (words: ModelWords) =>
      data(
        api.PATCH("/api/v1/sessions/{session_id}", {
          params: { path: { session_id: id } },
          body: modelSettings(words),
        }),
      ),
    onSuccess: (session) => queries.setQueryData(["session", session.id], session),
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

/** A text in pieces, so that the words of a search can be marked in it. */
export function splitAt(text: string, words: string): { text: string; isFound: boolean }[] {
  const wanted = words.split(/\s+/).filter((word) => word !== "");
  if (wanted.length === 0) return [{ text, isFound: false }];
  const longestFirst = [...wanted].sort((a, b) => b.length - a.length);
  const signs = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return text
    .split(new RegExp(`(${signs.join("|")})`, "iu"))
    .map((piece, index) => ({ text: piece, isFound: index % 2 === 1 }))
    .filter((piece) => piece.text !== "");
}
