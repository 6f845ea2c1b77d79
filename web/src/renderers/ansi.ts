/** Terminal output as pieces with a look: colours are understood, everything else is harmless. */
import { visible } from "../shared/visible";

export interface Piece {
  text: string;
  /** 0 to 15, or null for the usual. */
  color: number | null;
  bold: boolean;
  dim: boolean;
  underline: boolean;
}

type Look = Omit<Piece, "text">;
const PLAIN: Look = { color: null, bold: false, dim: false, underline: false };
// A look, another control sequence, a title or link, a short escape.
const ESCAPE = new RegExp(
  [
    "\\u001b\\[([0-9;:]*)m",
    "\\u001b\\[[0-?]*[ -/]*[@-~]",
    "\\u001b[\\]PX^_][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\|$)",
    "\\u001b[ -/]*[0-~]?",
  ].join("|"),
  "g",
);

export function parseAnsi(raw: string): Piece[] {
  const text = overwritten(raw);
  const pieces: Piece[] = [];
  let look = PLAIN;
  let from = 0;
  const add = (part: string) => {
    if (part !== "") pieces.push({ ...look, text: visible(part) });
  };
  for (const found of text.matchAll(ESCAPE)) {
    add(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[1] !== undefined) look = changed(look, found[1]);
  }
  add(text.slice(from));
  return pieces;
}

/** The text alone. */
export function withoutAnsi(raw: string): string {
  return visible(overwritten(raw).replace(ESCAPE, ""));
}

/** A line that was written again shows what was written last, as a terminal does. */
function overwritten(raw: string): string {
  const text = raw.replaceAll("\r\n", "\n");
  if (!text.includes("\r")) return text;
  return text
    .split("\n")
    .map((line) => {
      const parts = line.split("\r");
      return parts.findLast((part) => part !== "") ?? "";
    })
    .join("\n");
}

function changed(look: Look, codes: string): Look {
  const numbers = codes.split(/[;:]/).map((part) => Number(part === "" ? 0 : part));
  let next = look;
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      // 38;5;n is one of 256 colours, 38;2;r;g;b any: only the sixteen named ones have a look.
      const indexed = numbers[at + 1] === 5;
      const color = numbers[at + 2] ?? 0;
      if (code === 38 && indexed && color < 16) next = { ...next, color };
      at += indexed ? 2 : 4;
    } else next = step(next, code);
  }
  return next;
}

function step(look: Look, code: number): Look {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...look, bold: true };
  if (code === 2) return { ...look, dim: true };
  if (code === 4) return { ...look, underline: true };
  if (code === 22) return { ...look, bold: false, dim: false };
  if (code === 24) return { ...look, underline: false };
  if (code === 39) return { ...look, color: null };
  if (code >= 30 && code <= 37) return { ...look, color: code - 30 };
  if (code >= 90 && code <= 97) return { ...look, color: code - 82 };
  return look;
}
