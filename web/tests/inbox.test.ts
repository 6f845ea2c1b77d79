import { expect, test } from "vitest";
import { inboxAfter, waitsFor } from "../src/events/inbox";
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
const changed = (state: "opened" | "changed" | "closed", id: string): InboxMessage => ({
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

test("what changes keeps its place, and what may be decided since then stands by its age", () => {
  const two = [entry("a"), { ...entry("b"), opened_at: "2026-01-03T00:00:00.000Z" }];
  const voted = changed("changed", "a");
  if (voted.type === "inbox_changed") voted.entry.approved_by = ["bob"];
  const after = inboxAfter(two, voted);
  expect(ids(after)).toEqual(["a", "b"]);
  expect(after.map((one) => waitsFor(one, "bob"))).toEqual([false, true]);
  expect(after.map((one) => waitsFor(one, "eve"))).toEqual([true, true]);
  const escalated = changed("changed", "c");
  if (escalated.type === "inbox_changed") escalated.entry.opened_at = "2026-01-02T00:00:00.000Z";
  expect(ids(inboxAfter(after, escalated))).toEqual(["a", "c", "b"]);
});
