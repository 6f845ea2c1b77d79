import { beforeEach, expect, test, vi } from "vitest";
import type { InboxMessage } from "../src/events/messages";
import { Alerts, isOn, setAlert } from "../src/shell/alerts";

const closed: string[] = [];
const shown: { tag: string; body: string; onclick: (() => void) | null }[] = [];

class FakeNotification {
  static permission = "default";
  static answer = "granted";
  static async requestPermission() {
    FakeNotification.permission = FakeNotification.answer;
    return FakeNotification.answer;
  }
  onclick: (() => void) | null = null;
  tag: string;
  body: string;
  constructor(_: string, { tag, body }: { tag: string; body: string }) {
    this.tag = tag;
    this.body = body;
    shown.push(this);
  }
  close() {
    closed.push(this.tag);
  }
}

const changed = (
  state: "opened" | "changed" | "closed",
  id: string,
  reason?: "reminder" | "escalated" | "vote",
  approved: string[] = [],
): InboxMessage => ({
  v: 1,
  type: "inbox_changed",
  ts: "2026-01-01T00:00:00.000Z",
  cursor: "ibx_1",
  state,
  ...(reason === undefined ? {} : { reason }),
  entry: {
    approved_by: approved,
    kind: "confirmation",
    id,
    session_id: "ses_1",
    tool_name: "bash",
    title: "bash: rm -rf build\u202e",
    opened_at: "2026-01-01T00:00:00.000Z",
  },
});

beforeEach(() => {
  localStorage.clear();
  closed.length = 0;
  shown.length = 0;
  FakeNotification.permission = "default";
  FakeNotification.answer = "granted";
  vi.stubGlobal("Notification", FakeNotification);
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
});

test("nothing is shown before somebody has asked for it", () => {
  new Alerts().take(changed("opened", "a"), () => {});
  expect(shown).toEqual([]);
});

test("a notification comes, opens the session, and goes when the call is answered elsewhere", async () => {
  expect(await setAlert("notification", true)).toBe(true);
  const opened: string[] = [];
  const alerts = new Alerts();
  alerts.take(changed("opened", "a"), (entry) => opened.push(entry.session_id));
  expect(shown.map(({ tag, body }) => [tag, body])).toEqual([["a", "bash: rm -rf build⟨202E⟩"]]);
  shown[0]?.onclick?.();
  expect(opened).toEqual(["ses_1"]);
  alerts.take(changed("opened", "b"), () => {});
  alerts.take(changed("closed", "b"), () => {});
  expect(closed).toEqual(["a", "b"]);
});

test("a reminder calls again, another person's approval does not, and one's own ends it", async () => {
  await setAlert("notification", true);
  const alerts = new Alerts();
  const take = (...what: Parameters<typeof changed>) =>
    alerts.take(changed(...what), () => {}, "bob");
  take("opened", "a");
  take("changed", "a", "vote", ["eve"]);
  expect([shown.length, closed]).toEqual([1, []]);
  take("changed", "a", "reminder", ["eve"]);
  expect([shown.length, closed]).toEqual([2, ["a"]]);
  take("changed", "a", "vote", ["eve", "bob"]);
  take("changed", "a", "reminder", ["eve", "bob"]);
  expect([shown.length, closed]).toEqual([2, ["a", "a"]]);
  take("changed", "b", "escalated");
  expect(shown.length).toBe(3);
});

test("who looks at the page is not notified", async () => {
  await setAlert("notification", true);
  vi.spyOn(document, "hidden", "get").mockReturnValue(false);
  new Alerts().take(changed("opened", "a"), () => {});
  expect(shown).toEqual([]);
});

test("a refusal of the browser leaves it off", async () => {
  FakeNotification.answer = "denied";
  expect(await setAlert("notification", true)).toBe(false);
  expect(isOn("notification")).toBe(false);
});

test("a browser without notifications leaves it off", async () => {
  vi.unstubAllGlobals();
  expect(await setAlert("notification", true)).toBe(false);
});
