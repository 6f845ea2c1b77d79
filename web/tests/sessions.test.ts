/** Words of a search, marked where they stand. */
import { expect, test } from "vitest";
import { splitAt } from "../src/chat/sessions";

const marked = (text: string, words: string) =>
  splitAt(text, words)
    .map((piece) => (piece.isFound ? `[${piece.text}]` : piece.text))
    .join("");

test.each([
  ["A loaf of Bread", "bread", "A loaf of [Bread]"],
  ["怎么做面包", "面包", "怎么做[面包]"],
  ["rye bread and rye", "bread RYE", "[rye] [bread] and [rye]"],
  ["a.b axb (c)", "a.b (c)", "[a.b] axb [(c)]"],
  ["bread", "br bread", "[bread]"],
  ["nothing", "bread", "nothing"],
  ["as it is", "  ", "as it is"],
])("%s with %s", (text, words, expected) => {
  expect(marked(text, words)).toBe(expected);
});
