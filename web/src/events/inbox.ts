/** Pending requests, updated by the messages of the inbox. */
import type { InboxEntry, InboxMessage } from "./messages";

/** The list after a message, oldest first. */
export function inboxAfter(
  entries: readonly InboxEntry[],
  message: InboxMessage,
): readonly InboxEntry[] {
  if (message.type === "inbox") return message.recovered ? entries : (message.entries ?? []);
  const others = entries.filter((entry) => entry.id !== message.entry.id);
  return message.state === "opened" ? [...others, message.entry] : others;
}
