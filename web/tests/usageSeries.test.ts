/** What charts are drawn from. */
import { expect, test } from "vitest";
import { along, fatesOf } from "../src/admin/activity/usageSeries";
import { daysUntil, labelEvery, roundAbove } from "../src/admin/parts/scale";

test("an axis ends at a round number above everything", () => {
  expect([0, 1, 3, 7, 12, 49, 501, 0.03].map(roundAbove)).toEqual([
    1, 1, 5, 10, 20, 50, 1000, 0.05,
  ]);
});

test("days go up to today, over the end of a month", () => {
  expect(daysUntil(new Date("2026-03-02T23:59:00Z"), 4)).toEqual([
    "2026-02-27",
    "2026-02-28",
    "2026-03-01",
    "2026-03-02",
  ]);
});

test("labels do not stand over each other", () => {
  expect([labelEvery(7, 600), labelEvery(30, 300), labelEvery(90, 10)]).toEqual([1, 8, 90]);
});

test("every way a call can end is counted once", () => {
  const fates = fatesOf({ success: 3, declined: 1, denied: 2, timeout: 1, cancelled: 4 });
  expect(fates).toEqual({ success: 3, refused: 3, failed: 1, other: 4 });
});

test("a day without calls is a gap, not a zero", () => {
  const rows = [{ key: "2026-03-01", calls: 5 }];
  expect(along(["2026-02-28", "2026-03-01"], rows, (row) => row.calls)).toEqual([null, 5]);
});
