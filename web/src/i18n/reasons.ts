/** Why something asks or was refused, in Chinese: a word by its code before the service's sentence. */
import type { Language } from ".";
import chinese from "./risks.zh.json";

const WORDS: Readonly<Record<string, string>> = { ...chinese.risks, ...chinese.calls };

/** The word of a code; null in English, where the sentence says it, and for what is not known. */
export function reasonWord(language: Language, code: string): string | null {
  return language === "zh" && Object.hasOwn(WORDS, code) ? (WORDS[code] ?? null) : null;
}

/** The sentence with the word before it. */
export function reasonSaid(language: Language, code: string, sentence: string): string {
  const word = reasonWord(language, code);
  return word === null ? sentence : `${word}（${sentence}）`;
}
