/** What tools are for, in Chinese. */
import { expect, test } from "vitest";
import { fetchToolWords, groupSaid, toolAbout, toolDescribed } from "../src/i18n/toolWords";

test("a tool is told in the reader's language; another's tool in its own words", async () => {
  await fetchToolWords();
  const own = "Compute an arithmetic expression.\nMore for models.";
  expect(toolAbout("zh", "calculator", own)).toBe("精确计算算术表达式。");
  expect(toolAbout("en", "calculator", own)).toBe("Compute an arithmetic expression.");
  expect(toolAbout("zh", "of_a_plugin", own)).toBe("Compute an arithmetic expression.");
  expect(toolDescribed("zh", "calculator", own)).toEqual({
    what: "精确计算算术表达式。",
    detail: own,
  });
  expect(toolDescribed("en", "calculator", own)).toEqual({ what: own, detail: null });
  expect(groupSaid("zh", "files")).toBe("文件（files）");
  expect(groupSaid("zh", "of_a_plugin")).toBe("of_a_plugin");
  expect(groupSaid("en", "files")).toBe("files");
});
