/** What somebody has begun to write, by where: it waits there while they look at something else. */
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import type { Connection } from "../events/connection";
import type { Attachment } from "./attachments";

export interface Draft {
  words: string;
  attached: readonly Attachment[];
}

/** Where a session is begun; any other place is a session, by its id. */
export const NEW_SESSION = "";

const NOTHING: Draft = { words: "", attached: [] };

type Drafts = StoreApi<ReadonlyMap<string, Draft>>;

/** A connection is one person's, and so is what they have begun. */
const drafts = new WeakMap<Connection, Drafts>();

function draftsOf(connection: Connection): Drafts {
  const known = drafts.get(connection);
  if (known !== undefined) return known;
  const store: Drafts = createStore(() => new Map<string, Draft>());
  drafts.set(connection, store);
  return store;
}

export function draftAt(connection: Connection, place: string): Draft {
  return draftsOf(connection).getState().get(place) ?? NOTHING;
}

/** The same, followed: whoever changes it, what is drawn is what is kept. */
export function useDraftAt(connection: Connection, place: string): Draft {
  return useStore(draftsOf(connection), (all) => all.get(place) ?? NOTHING);
}

export function keepDraft(connection: Connection, place: string, draft: Draft): void {
  const all = new Map(draftsOf(connection).getState());
  if (isNothing(draft)) all.delete(place);
  else all.set(place, draft);
  draftsOf(connection).setState(all, true);
}

/** What was begun while a session came about belongs to that session. */
export function moveDraft(connection: Connection, from: string, to: string): void {
  const draft = draftAt(connection, from);
  if (isNothing(draft)) return;
  keepDraft(connection, to, together(draftAt(connection, to), draft));
  keepDraft(connection, from, NOTHING);
}

/** What was begun first, and what was begun since. */
export function together(first: Draft, since: Draft): Draft {
  const words = [first.words, since.words].filter((part) => part !== "").join("\n");
  return { words, attached: [...first.attached, ...since.attached] };
}

const isNothing = (draft: Draft): boolean => draft.words === "" && draft.attached.length === 0;
