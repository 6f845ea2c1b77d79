/** Words that are fetched when the first of them is to be told. */
import { redraw } from ".";

export interface Lazily<T> {
  /** What is here; fetches the rest. */
  now: () => T;
  /** Wait until it is here. Never fails: what does not come is asked for again. */
  fetch: () => Promise<void>;
}

/** `none` is told until `load` has come; then what was told is drawn anew. */
export function lazily<T>(load: () => Promise<T>, none: T): Lazily<T> {
  let words = none;
  let coming: Promise<void> | null = null;
  const fetch = () => {
    coming ??= load().then(
      (loaded) => {
        words = loaded;
        redraw();
      },
      () => {
        coming = null;
      },
    );
    return coming;
  };
  return {
    now: () => {
      if (coming === null) void fetch();
      return words;
    },
    fetch,
  };
}

/** The word of a key; null for what has none. */
export const wordOf = (words: Readonly<Record<string, string>>, key: string): string | null =>
  Object.hasOwn(words, key) ? (words[key] ?? null) : null;
