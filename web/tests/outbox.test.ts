/** What waits to be sent belongs to who wrote it. */
import { expect, test, vi } from "vitest";
import { ApiError } from "../src/api/client";
import { discard, forget, outboxOf, say, sayAgain } from "../src/chat/outbox";
import { Connection } from "../src/events/connection";

const unreachable = {
  open: () => ({ close: () => {} }) as unknown as WebSocket,
  url: () => "ws://here/api/v1/ws",
  random: () => 1,
};
const words = [{ type: "text", text: "mine" }];
const waiting = (connection: Connection) => outboxOf(connection).getState().messages;

test("the words of one person are not there for the next", async () => {
  const anns = new Connection(unreachable);
  anns.start("ann");
  say(anns, "ses_1", words);
  expect(waiting(anns)).toHaveLength(1);
  anns.stop();
  await vi.waitFor(() => expect(waiting(anns)[0]?.error).toBeInstanceOf(ApiError));
  expect(waiting(new Connection(unreachable))).toEqual([]);
});

test("what has come back from the log waits no more, nor what was discarded", () => {
  const connection = new Connection(unreachable);
  connection.start("ann");
  say(connection, "ses_1", words);
  say(connection, "ses_1", words);
  const [first, second] = waiting(connection);
  forget(connection, new Set([first?.id ?? ""]));
  expect(waiting(connection)).toEqual([second]);
  discard(connection, second?.id ?? "");
  expect(waiting(connection)).toEqual([]);
});

test("what is tried again goes under the same id, so that nothing is said twice", async () => {
  const connection = new Connection(unreachable);
  connection.start("ann");
  say(connection, "ses_1", words);
  const first = waiting(connection)[0];
  connection.stop();
  await vi.waitFor(() => expect(waiting(connection)[0]?.error).toBeInstanceOf(ApiError));
  connection.start("ann");
  const command = vi.spyOn(connection, "command");
  if (first !== undefined) sayAgain(connection, first);
  expect(command.mock.calls.map((call) => call[2])).toEqual([first?.id]);
  expect(waiting(connection)).toEqual([{ ...first, error: null }]);
  connection.stop();
});
