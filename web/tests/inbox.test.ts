import { expect, test } from "vitest";
import { inboxAfter } from "../src/events/inbox";
import type { InboxEntry, InboxMessage } from "../src/events/messages";

const entry = (id: string): InboxEntry => ({
  kind: "confirmation",
  id,
  session_id: "ses_1",
  tool_name: "bash",
  title: "bash: rm -rf build",
  opened_at: "2026-01-01T00:00:00.000Z",
});
const ready = (recovered: boolean, ...ids: string[]): InboxMessage => ({
  v: 1,
  type: "inbox",
  ref: "cmd_1",
  cursor: "ibx_1",
  recovered,
  entries: ids.map(entry),
});
const changed = (state: "opened" | "closed", id: string): InboxMessage => ({
  v: 1,
  type: "inbox_changed",
  ts: "2026-01-01T00:00:00.000Z",
  cursor: "ibx_2",
  state,
  entry: entry(id),
});
const ids = (entries: readonly InboxEntry[]) => entries.map(({ id }) => id);

test("the whole list replaces what was there, and a recovered one leaves it", () => {
  expect(ids(inboxAfter([entry("old")], ready(false, "a", "b")))).toEqual(["a", "b"]);
  expect(ids(inboxAfter([entry("old")], ready(true)))).toEqual(["old"]);
});

test("what comes is added once, and what ends is removed", () => {
  const one = inboxAfter([entry("a")], changed("opened", "b"));
  expect(ids(one)).toEqual(["a", "b"]);
  expect(ids(inboxAfter(one, changed("opened", "b")))).toEqual(["a", "b"]);
  expect(ids(inboxAfter(one, changed("closed", "a")))).toEqual(["b"]);
  expect(ids(inboxAfter(one, changed("closed", "unknown")))).toEqual(["a", "b"]);
});
