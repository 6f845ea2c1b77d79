/** Makes characters that hide or turn text around visible: nothing from outside plays tricks. */

// Direction marks and isolates, zero-width characters, and controls but for tab and line end.
const HIDING =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export function visible(text: string): string {
  return text.replace(HIDING, (mark) => {
    const code = mark.codePointAt(0) ?? 0;
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
