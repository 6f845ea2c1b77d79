/** What a lasting approval covers, in Chinese: by its kind, and the service's sentence beneath. */
import type { Language } from ".";
import { wordOf } from "./lazily";

const CHINESE: Readonly<Record<string, string>> = {
  segments: "仅适用于下列命令，与无需询问的命令一起出现时也适用。",
  command: "仅适用于在同一目录中一字不差的这段命令。",
  arguments: "仅适用于参数完全相同的调用。",
};

export interface Coverage {
  what: string;
  detail: string | null;
}

/** The sentence alone in English, and for a kind that is not known. */
export function coverage(language: Language, kind: unknown, sentence: string): Coverage {
  const words = language === "zh" && typeof kind === "string" ? wordOf(CHINESE, kind) : null;
  return words === null ? { what: sentence, detail: null } : { what: words, detail: sentence };
}
