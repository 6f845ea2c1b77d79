/** What a session used and cost, in dollars. */

const COUNTED = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_creation_tokens",
] as const;

export interface Used {
  tokens: number;
  /** Null when a model that was used has no price, or none was used. */
  cost: number | null;
}

/** The totals of a session, as the service counts them. */
export function usageOf(usage: Readonly<Record<string, number>>): Used {
  const tokens = COUNTED.reduce((sum, name) => sum + (usage[name] ?? 0), 0);
  const isPriced = tokens > 0 && (usage.unpriced_tokens ?? 0) === 0;
  return { tokens, cost: isPriced ? (usage.cost ?? null) : null };
}

/** Dollars as people write them; a small sum keeps two figures that say something. */
export function dollars(sum: number, language: string): string {
  const digits: Intl.NumberFormatOptions =
    sum > 0 && sum < 0.1 ? { maximumSignificantDigits: 2 } : {};
  return sum.toLocaleString(language, { style: "currency", currency: "USD", ...digits });
}
