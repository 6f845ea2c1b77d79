/** Hosts as a form holds them: one per line. */

export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** A form's text with one more host at its end. */
export const withHost = (text: string, host: string): string =>
  [...new Set([...linesOf(text), host])].join("\n");
