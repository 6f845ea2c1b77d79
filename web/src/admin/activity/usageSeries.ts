/** The figures of days as the series of charts. */
import type { Schemas } from "../../api/client";

type CallDay = Schemas["CallTotals"];

/** What statuses mean to whoever looks at a chart; the rest is "other". */
const REFUSED: ReadonlySet<string> = new Set(["denied", "declined", "expired", "disabled"]);
const FAILED: ReadonlySet<string> = new Set([
  "error",
  "timeout",
  "interrupted",
  "invalid_arguments",
]);

export type Fate = "success" | "refused" | "failed" | "other";
export const FATES: readonly Fate[] = ["success", "refused", "failed", "other"];

function fateOf(status: string): Fate {
  if (status === "success") return "success";
  if (REFUSED.has(status)) return "refused";
  return FAILED.has(status) ? "failed" : "other";
}

/** How many calls ended in each way. */
export function fatesOf(statuses: Readonly<Record<string, number>>): Record<Fate, number> {
  const fates: Record<Fate, number> = { success: 0, refused: 0, failed: 0, other: 0 };
  for (const [status, count] of Object.entries(statuses)) fates[fateOf(status)] += count;
  return fates;
}

/** One value for each day; null for a day that has none. */
export function along<Row extends { key: string }>(
  days: readonly string[],
  rows: readonly Row[],
  value: (row: Row) => number | null,
): (number | null)[] {
  const found = new Map(rows.map((row) => [row.key, row]));
  return days.map((day) => {
    const row = found.get(day);
    return row === undefined ? null : value(row);
  });
}

export const fateSeries = (days: readonly string[], rows: readonly CallDay[]) =>
  FATES.map((fate) => ({ fate, values: along(days, rows, (row) => fatesOf(row.statuses)[fate]) }));
