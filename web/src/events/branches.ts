/** The tree that the messages of a session form, and the branch of it that is shown. */
import type { Placed, SessionState } from "./model";

/** What happened on the branch that ends with the newest message. */
export function shownItems(
  session: Pick<SessionState, "items" | "parents" | "leaf" | "branched">,
): readonly Placed[] {
  if (!session.branched) return session.items;
  const path = new Set(pathOf(session, session.leaf));
  return session.items.filter((item) => item.under === null || path.has(item.under));
}

/** From an entry up to the root of its branch. */
export function pathOf({ parents }: Pick<SessionState, "parents">, leaf: string | null): string[] {
  const path: string[] = [];
  for (let id = leaf; id !== null; id = parents.get(id) ?? null) path.push(id);
  return path;
}

export interface Branches {
  /** The messages that stand in one place of the conversation, oldest first. */
  siblings: (id: string) => readonly string[];
  /** The end of what was said last behind a message; behind null, of everything. */
  newest: (id: string | null) => string | null;
  /** What the next message hangs on when it shall follow this one: the results of its calls too. */
  behind: (id: string) => string;
  /** What a message hangs on. */
  before: (id: string) => string | null;
}

export function branchesOf(session: Pick<SessionState, "parents" | "messages">): Branches {
  const { parents, messages } = session;
  const read = (id: string) => ["user", "assistant"].includes(messages.get(id)?.role ?? "");
  const above = new Map<string, string | null>();
  const alternatives = new Map<string | null, string[]>();
  const tips = new Map<string | null, string>();
  const results = new Map<string, string>();
  for (const [id, parent] of parents) {
    // What nobody reads is no place of its own: what follows it follows what stands before it.
    const place = parent === null || read(parent) ? parent : (above.get(parent) ?? null);
    above.set(id, place);
    if (read(id)) alternatives.set(place, [...(alternatives.get(place) ?? []), id]);
    if (messages.get(id)?.role === "tool" && parent !== null) results.set(parent, id);
  }
  for (const [id, parent] of [...parents].reverse()) {
    const tip = tips.get(id) ?? id;
    tips.set(id, tip);
    if (!tips.has(parent)) tips.set(parent, tip);
  }
  return {
    siblings: (id) => alternatives.get(above.get(id) ?? null) ?? [id],
    newest: (id) => tips.get(id) ?? id,
    behind: (id) => results.get(id) ?? id,
    before: (id) => parents.get(id) ?? null,
  };
}
