/** Makes characters that hide or turn text around visible: nothing from outside plays tricks. */

// Direction marks and isolates, zero-width and empty characters, tags, in which whole sentences
// can be hidden from people and not from models, and controls but for tab and line end.
const HIDING =
  /\u034f|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

// In prose, joiners and single marks of direction belong to how some languages are written.
const TRICKING =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export function visible(text: string): string {
  return text.replace(HIDING, written);
}

/** The same for what people and models say, where emoji and Persian stay as they are. */
export function visibleProse(text: string): string {
  return text.replace(TRICKING, written);
}

function written(mark: string): string {
  const code = mark.codePointAt(0) ?? 0;
  return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
