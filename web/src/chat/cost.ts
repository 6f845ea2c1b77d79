/** What runs cost, in dollars. */
import type { Run } from "../events/model";

/** The sum of the runs that used a model; null when one of them has no price, or none did. */
export function costOf(runs: Iterable<Run>): number | null {
  let sum: number | null = null;
  for (const run of runs) {
    if (run.inputTokens + run.outputTokens + run.cachedTokens === 0) continue;
    if (run.cost === null) return null;
    sum = (sum ?? 0) + run.cost;
  }
  return sum;
}

/** Dollars as people write them; a small sum keeps two figures that say something. */
export function dollars(sum: number, language: string): string {
  const digits: Intl.NumberFormatOptions =
    sum > 0 && sum < 0.1 ? { maximumSignificantDigits: 2 } : {};
  return sum.toLocaleString(language, { style: "currency", currency: "USD", ...digits });
}
