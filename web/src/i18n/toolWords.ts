/** What each built-in tool is for, in Chinese. Its own description is written for models. */
import type { Language } from ".";
import { lazily, wordOf } from "./lazily";

interface Words {
  tools: Readonly<Record<string, string>>;
  groups: Readonly<Record<string, string>>;
}

const words = lazily<Words>(async () => (await import("./tools.zh.json")).default, {
  tools: {},
  groups: {},
});

/** Have the words of tools; until then their own descriptions stand for them. */
export const fetchToolWords = words.fetch;

/** A sentence about a tool: ours in Chinese; the first line of its own for all others. */
export function toolAbout(language: Language, tool: string, description: string): string {
  const own = description.split("\n")[0] ?? "";
  return language === "zh" ? (wordOf(words.now().tools, tool) ?? own) : own;
}

/** What a tool's form says of it: our sentence first in Chinese, and its own words. */
export function toolDescribed(
  language: Language,
  tool: string,
  description: string,
): { what: string; detail: string | null } {
  const sentence = language === "zh" ? wordOf(words.now().tools, tool) : null;
  return sentence === null
    ? { what: description, detail: null }
    : { what: sentence, detail: description };
}

/** The name of a toolset or a category, with its identifier. */
export function groupSaid(language: Language, group: string): string {
  const word = language === "zh" ? wordOf(words.now().groups, group) : null;
  return word === null ? group : `${word}（${group}）`;
}
