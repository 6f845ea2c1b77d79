/** Why something asks: in Chinese a word by its code before the service's sentence. */
import type { Language } from ".";
import { riskWord } from "./words";

/** The sentence with the word before it; alone in English, and for a code that has none. */
export function reasonSaid(language: Language, code: string, sentence: string): string {
  const word = riskWord(language, code);
  return word === null ? sentence : `${word}（${sentence}）`;
}
