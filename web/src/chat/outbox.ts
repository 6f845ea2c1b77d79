/** What has been said and has not come back from the log yet, by session. */
import { createStore, type StoreApi } from "zustand/vanilla";
import type { ApiError } from "../api/client";
import { type Connection, newCommandId } from "../events/connection";
import type { ContentBlock } from "../events/messages";
import { asApiError } from "../events/sessionStore";

export interface Outgoing {
  /** The command's id, which comes back as `client_message_id`. */
  id: string;
  sessionId: string;
  content: readonly ContentBlock[];
  error: ApiError | null;
}

export type Outbox = StoreApi<{ messages: readonly Outgoing[] }>;

/** A connection is one person's: their words go with it, and nobody else finds or sends them. */
const outboxes = new WeakMap<Connection, Outbox>();

export function outboxOf(connection: Connection): Outbox {
  const known = outboxes.get(connection);
  if (known !== undefined) return known;
  const outbox: Outbox = createStore(() => ({ messages: [] }));
  outboxes.set(connection, outbox);
  return outbox;
}

/** Say something; while a run is active it waits for its turn. */
export function say(
  connection: Connection,
  sessionId: string,
  content: readonly ContentBlock[],
): void {
  const message: Outgoing = { id: newCommandId(), sessionId, content, error: null };
  outboxOf(connection).setState(({ messages }) => ({ messages: [...messages, message] }));
  send(connection, message);
}

/** Try again, under the same id: what has arrived after all is not said twice. */
export function sayAgain(connection: Connection, message: Outgoing): void {
  outboxOf(connection).setState(({ messages }) => ({
    messages: messages.map((one) => (one.id === message.id ? { ...one, error: null } : one)),
  }));
  send(connection, message);
}

function send(connection: Connection, { id, sessionId, content }: Outgoing): void {
  const outbox = outboxOf(connection);
  connection
    .command("user_message", { session_id: sessionId, content, when_busy: "queue" }, id)
    .catch((reason: unknown) => {
      const error = asApiError(reason);
      outbox.setState(({ messages }) => ({
        messages: messages.map((one) => (one.id === id ? { ...one, error } : one)),
      }));
    });
}

export function discard(connection: Connection, id: string): void {
  const outbox = outboxOf(connection);
  outbox.setState(({ messages }) => ({ messages: messages.filter((one) => one.id !== id) }));
}

/** Forget what the log has by now. */
export function forget(connection: Connection, echoed: ReadonlySet<string>): void {
  const outbox = outboxOf(connection);
  if (outbox.getState().messages.some((one) => echoed.has(one.id))) {
    outbox.setState(({ messages }) => ({
      messages: messages.filter((one) => !echoed.has(one.id)),
    }));
  }
}
