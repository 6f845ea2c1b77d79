import { describe, expect, it } from "vitest";
import { splitBlocks } from "../src/chat/blocks";
import { parseAnsi, withoutAnsi } from "../src/renderers/ansi";
import { visible } from "../src/shared/visible";

const ESC = "\u001b";

describe("terminal output", () => {
  it("has its colours", () => {
    expect(parseAnsi(`a ${ESC}[1;31mred${ESC}[0m b`)).toEqual([
      { text: "a ", color: null, bold: false, dim: false, underline: false },
      { text: "red", color: 1, bold: true, dim: false, underline: false },
      { text: " b", color: null, bold: false, dim: false, underline: false },
    ]);
  });

  it("takes of 256 and of all colours those that have a look", () => {
    expect(parseAnsi(`${ESC}[38;5;2mx`)[0]?.color).toBe(2);
    expect(parseAnsi(`${ESC}[38;5;200mx`)[0]?.color).toBeNull();
    expect(parseAnsi(`${ESC}[38;2;1;2;3;4mx`)[0]).toMatchObject({ color: null, underline: true });
  });

  it.each([
    ["a title", `${ESC}]0;hacked\u0007text`],
    ["a link", `${ESC}]8;;https://evil.example${ESC}\\text${ESC}]8;;${ESC}\\`],
    ["a cleared screen", `${ESC}[2J${ESC}[Htext`],
    ["a device string", `${ESC}Pq#0;2;0${ESC}\\text`],
    ["an escape that has no end", `text${ESC}]0;never ends`],
    ["a lone escape", `text${ESC}`],
  ])("leaves out %s", (_, raw) => {
    expect(withoutAnsi(raw)).toBe("text");
  });

  it("shows what was written last on a line", () => {
    expect(withoutAnsi("10 %\r50 %\r100 %\ndone\r\n")).toBe("100 %\ndone\n");
  });

  it("does not slow down on a long line of escapes", () => {
    expect(parseAnsi(`${ESC}[31m`.repeat(50_000))).toEqual([]);
    expect(withoutAnsi(`${ESC}[`.repeat(50_000))).toBe("");
  });
});

describe("text that hides something", () => {
  it.each([
    ["\u202egpj.exe", "⟨202E⟩gpj.exe"],
    ["a\u200bb", "a⟨200B⟩b"],
    ["\u2066x\u2069", "⟨2066⟩x⟨2069⟩"],
    ["bell\u0007", "bell⟨0007⟩"],
  ])("is written out: %j", (raw, shown) => {
    expect(visible(raw)).toBe(shown);
  });

  it("keeps tabs, lines, Chinese and emoji", () => {
    const text = "a\tb\n中文 👍";
    expect(visible(text)).toBe(text);
  });
});

describe("blocks of Markdown", () => {
  const whole = (text: string) => splitBlocks(text).join("\n");

  it.each(["", "one", "one\n\ntwo", "```\na\n\nb\n```\n\nend", "- a\n\n- b\n\nend"])(
    "together are the text: %j",
    (text) => {
      expect(whole(text)).toBe(text);
    },
  );

  it("are cut at blank lines", () => {
    expect(splitBlocks("one\n\ntwo\n\nthree")).toHaveLength(3);
  });

  it("keep a fence together, also one that is not closed yet", () => {
    expect(splitBlocks("```js\na\n\nb\n```\n\nend")).toHaveLength(2);
    expect(splitBlocks("~~~\na\n\n```\n\nb")).toHaveLength(1);
  });

  it("keep a list together", () => {
    expect(splitBlocks("1. a\n\n2. b\n\n   more\n\nend")).toHaveLength(2);
  });

  it("do not change while more is written behind them", () => {
    const text = "one\n\ntwo\n\n```\ncode\n```\n\nlast words";
    const before = splitBlocks(text);
    const after = splitBlocks(`${text} and more`);
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
  });
});
