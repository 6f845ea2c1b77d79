/** What hides or turns text is written out; what languages need stays in prose. */
import { expect, test } from "vitest";
import { visible, visibleProse } from "../src/shared/visible";

test("marks that turn text round are written out, in names and in prose", () => {
  expect(visible("safe\u202egpj.exe")).toBe("safe⟨202E⟩gpj.exe");
  expect(visibleProse("safe\u202egpj.exe \u2066x\u2069 \u001b[2J")).toBe(
    "safe⟨202E⟩gpj.exe ⟨2066⟩x⟨2069⟩ ⟨001B⟩[2J",
  );
});

test("prose keeps joined emoji, Persian, lines and tabs, which a name does not", () => {
  const family = "👩\u200d👧";
  const persian = "می\u200cخواهم";
  expect(visibleProse(`${family}\n\t${persian}`)).toBe(`${family}\n\t${persian}`);
  expect(visible(family)).toBe("👩⟨200D⟩👧");
});

test("a sentence in tags, which only models would read, is written out everywhere", () => {
  const hidden = String.fromCodePoint(0xe0072, 0xe006d);
  expect(visible(`ls${hidden}`)).toBe("ls⟨E0072⟩⟨E006D⟩");
  expect(visibleProse(`ls${hidden}`)).toBe("ls⟨E0072⟩⟨E006D⟩");
});
