/** Pending requests, updated by the messages of the inbox. */
import type { InboxEntry, InboxMessage } from "./messages";

/** The list after a message, oldest first. */
export function inboxAfter(
  entries: readonly InboxEntry[],
  message: InboxMessage,
): readonly InboxEntry[] {
  if (message.type === "inbox") return message.recovered ? entries : (message.entries ?? []);
  const { entry, state } = message;
  if (state === "closed") return entries.filter((other) => other.id !== entry.id);
  if (entries.some((other) => other.id === entry.id)) {
    return entries.map((other) => (other.id === entry.id ? entry : other));
  }
  // It may have waited for others before: rights change, and further groups may answer later.
  return [...entries, entry].sort((one, other) => compare(one.opened_at, other.opened_at));
}

const compare = (one: string, other: string) => (one < other ? -1 : Number(one > other));

/** Whether an entry still waits for this person, who has not approved it. */
export const waitsFor = (entry: InboxEntry, userId: string | undefined): boolean =>
  userId === undefined || !(entry.approved_by ?? []).includes(userId);
