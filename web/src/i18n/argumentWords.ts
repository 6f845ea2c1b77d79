/** What each argument of a built-in tool is, in Chinese. Its own words are written for models. */
import type { Language } from ".";
import { lazily, wordOf } from "./lazily";

type Words = Readonly<Record<string, Readonly<Record<string, string>>>>;

const words = lazily<Words>(async () => (await import("./arguments.zh.json")).default, {});

/** Have the words of arguments; until then their own stand for them. */
export const fetchArgumentWords = words.fetch;

/** A sentence about an argument: ours in Chinese; its own for all others. */
export function argumentAbout(
  language: Language,
  tool: string,
  argument: string,
  own: string,
): string {
  if (language !== "zh") return own;
  const all = words.now();
  const ofTool = Object.hasOwn(all, tool) ? all[tool] : undefined;
  return (ofTool && wordOf(ofTool, argument)) ?? own;
}
