/** What is odd about a rule, in Chinese: by the code that comes with the service's sentence. */
import type { Language } from ".";
import { wordOf } from "./lazily";
import chinese from "./rules.zh.json";

/** A line in the reader's language, and the service's own beneath where that is another. */
export function ruleWarning(
  language: Language,
  code: string,
  message: string,
): { what: string; detail: string | null } {
  const words = language === "zh" ? wordOf(chinese, code) : null;
  return words === null ? { what: message, detail: null } : { what: words, detail: message };
}
