/** What the service's machine codes mean, in Chinese; in English its own sentence says it. */
import type { Language } from ".";
import { lazily, wordOf } from "./lazily";

interface Words {
  codes: Readonly<Record<string, string>>;
  risks: Readonly<Record<string, string>>;
}

const words = lazily<Words>(
  async () => {
    const [codes, risks] = await Promise.all([
      import("./codes.zh.json"),
      import("./risks.zh.json"),
    ]);
    return { codes: codes.default, risks: risks.default };
  },
  { codes: {}, risks: {} },
);

/** Have the words of codes; until then the service's sentences stand for them. */
export const fetchWords = words.fetch;

/** The words of an error's code, or of why a tool is off; null for what has none.

`{name}` in them is the tool's; of the service's sentence, `{detail}` is what it names after its last
colon, and `{count}` its first number.
*/
export function codeWords(
  language: Language,
  code: string,
  sentence: string,
  name = "该工具",
): string | null {
  const template = language === "zh" ? wordOf(words.now().codes, code) : null;
  if (template === null) return null;
  const colon = sentence.lastIndexOf(": ");
  const told: Readonly<Record<string, string>> = {
    name,
    detail: colon < 0 ? "–" : sentence.slice(colon + 2),
    count: /\d+/.exec(sentence)?.[0] ?? "–",
  };
  return template.replace(/\{(name|detail|count)\}/g, (_, key: string) => told[key] ?? "–");
}

/** The word of what was found in a call; null for what has none. */
export const riskWord = (language: Language, code: string): string | null =>
  language === "zh" ? wordOf(words.now().risks, code) : null;
