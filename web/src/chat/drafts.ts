/** What somebody has begun to write, by where: it waits there while they look at something else. */
import type { Connection } from "../events/connection";
import type { Attachment } from "./attachments";

export interface Draft {
  words: string;
  attached: readonly Attachment[];
}

/** Where a session is begun; any other place is a session, by its id. */
export const NEW_SESSION = "";

const NOTHING: Draft = { words: "", attached: [] };

/** A connection is one person's, and so is what they have begun. */
const drafts = new WeakMap<Connection, Map<string, Draft>>();

export function draftAt(connection: Connection, place: string): Draft {
  return drafts.get(connection)?.get(place) ?? NOTHING;
}

export function keepDraft(connection: Connection, place: string, draft: Draft): void {
  const kept = drafts.get(connection) ?? new Map<string, Draft>();
  if (draft.words === "" && draft.attached.length === 0) kept.delete(place);
  else kept.set(place, draft);
  drafts.set(connection, kept);
}

/** What was begun while a session came about belongs to that session. */
export function moveDraft(connection: Connection, from: string, to: string): void {
  const draft = draftAt(connection, from);
  keepDraft(connection, to, draft);
  keepDraft(connection, from, NOTHING);
}

/** What could not be sent, before what was begun since. */
export function together(unsent: Draft, since: Draft): Draft {
  const words = [unsent.words, since.words].filter((part) => part !== "").join("\n");
  return { words, attached: [...unsent.attached, ...since.attached] };
}
