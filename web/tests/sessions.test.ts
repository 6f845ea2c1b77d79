/** Words of a search, marked where they stand, and the settings of a session's model. */
import { expect, test } from "vitest";
import { AS_AGENT, modelSettings, modelWords, splitAt } from "../src/chat/sessions";

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

test.each([
  [{ model: null, max_tokens: null, temperature: null }, AS_AGENT],
  [
    { model: "m-1", max_tokens: 2000, temperature: 0 },
    { model: "m-1", answer: "2000", temperature: "0" },
  ],
])("model settings %o are written as they are read", (settings, words) => {
  expect(modelWords(settings)).toEqual(words);
  expect(modelSettings(words)).toEqual(settings);
});

test("what is only spaces is left to the agent", () => {
  const spaces = { model: "  ", answer: " ", temperature: "" };
  expect(modelSettings(spaces)).toEqual(modelSettings(AS_AGENT));
});
