import { expect, test } from "vitest";
import { coverage } from "../src/i18n/coverage";

const SENTENCE = "`rm -r build` in /workspace, also together with commands that need no approval";

test.each(["segments", "command", "arguments"])("a %s is told in Chinese first", (kind) => {
  const told = coverage("zh", kind, SENTENCE);
  expect(told.what).toMatch(/^仅适用于/);
  expect(told.detail).toBe(SENTENCE);
});

test.each([
  ["en", "segments"],
  ["zh", "something new"],
  ["zh", undefined],
  ["zh", "toString"],
] as const)("the sentence stands alone (%s, %s)", (language, kind) => {
  expect(coverage(language, kind, SENTENCE)).toEqual({ what: SENTENCE, detail: null });
});
