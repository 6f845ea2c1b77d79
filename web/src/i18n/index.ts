/** Texts in English and Chinese, side by side. One without Chinese is shown in English. */
import { useSyncExternalStore } from "react";
import { admin } from "./texts/admin";
import { chat } from "./texts/chat";
import { shell } from "./texts/shell";

export const TEXTS = { ...shell, ...chat, ...admin };
export type TextKey = keyof typeof TEXTS;
export type Language = "en" | "zh";
export type Values = Readonly<Record<string, string | number>>;
export type Translate = (key: TextKey, values?: Values) => string;

const KEPT = "tollgate-language";
const listeners = new Set<() => void>();
let told: { readonly language: Language } = { language: initial() };

function initial(): Language {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(KEPT);
  } catch {
    // Storage is forbidden here: the browser's own language then.
  }
  return (kept ?? navigator.language).toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function setLanguage(next: Language): void {
  told = { language: next };
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
  try {
    localStorage.setItem(KEPT, next);
  } catch {
    // It holds for as long as the page is open.
  }
  for (const listener of listeners) listener();
}

export const currentLanguage = (): Language => told.language;

/** Draw what is told anew: more words have come. */
export function redraw(): void {
  told = { ...told };
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The text with `{name}` filled in; `{n|one|many}` takes the form that fits a number. */
export function translate(
  key: TextKey,
  values: Values = {},
  into: Language = told.language,
): string {
  return filled(TEXTS[key], values, into);
}

/** One of the two texts, with `values` filled in as by `translate`. */
function filled(
  [english, chinese]: readonly [string, string?],
  values: Values,
  into: Language,
): string {
  const template = into === "zh" ? (chinese ?? english) : english;
  return template.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (whole, name, one, many) => {
    const value = values[name];
    if (value === undefined) return whole;
    if (one === undefined) return String(value);
    return value === 1 ? one : many;
  });
}

/** Texts in the chosen language; who uses it is drawn again when that changes. */
export function useTexts(): { t: Translate; language: Language } {
  const { language: chosen } = useSyncExternalStore(subscribe, () => told);
  return { t: (key, values) => translate(key, values, chosen), language: chosen };
}

/** Texts that a part of the pages brings with it, in the chosen language. */
export function useOwnTexts<Key extends string>(
  texts: Readonly<Record<Key, readonly [string, string?]>>,
): (key: Key, values?: Values) => string {
  const { language } = useTexts();
  return (key, values = {}) => filled(texts[key], values, language);
}
