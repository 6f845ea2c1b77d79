/** What a session used and cost. */
import { expect, test } from "vitest";
import { dollars, usageOf } from "../src/chat/cost";

test.each([
  [{ input_tokens: 10, output_tokens: 5, cost: 0.75 }, 15, 0.75],
  [{ input_tokens: 1, cache_read_tokens: 2, cache_creation_tokens: 4, cost: 0 }, 7, 0],
  [{ input_tokens: 10, output_tokens: 5, cost: 0.25, unpriced_tokens: 3 }, 15, null],
  [{ input_tokens: 10, unpriced_tokens: 10 }, 10, null],
  [{}, 0, null],
])("%o is %d tokens and costs %s", (usage, tokens, cost) => {
  expect(usageOf(usage as Record<string, number>)).toEqual({ tokens, cost });
});

test("small sums keep what they say", () => {
  expect(dollars(0.00123, "en")).toBe("$0.0012");
  expect(dollars(12.5, "en")).toBe("$12.50");
});
