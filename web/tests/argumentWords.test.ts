/** What arguments of tools are, in Chinese. */
import { expect, test } from "vitest";
import { argumentAbout, fetchArgumentWords } from "../src/i18n/argumentWords";

test.each([
  ["zh", "get_weather", "days", "预报的天数，从今天算起。"],
  ["en", "get_weather", "days", "Own words."],
  ["zh", "get_weather", "of_a_plugin", "Own words."],
  ["zh", "of_a_plugin", "days", "Own words."],
  ["zh", "toString", "name", "Own words."],
  ["zh", "get_weather", "constructor", "Own words."],
] as const)("in %s, %s: %s", async (language, tool, argument, told) => {
  await fetchArgumentWords();
  expect(argumentAbout(language, tool, argument, "Own words.")).toBe(told);
});
