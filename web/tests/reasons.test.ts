/** Why something asks and what codes mean, with words in Chinese before the service's sentence. */
import { expect, test } from "vitest";
import { ApiError } from "../src/api/client";
import { currentLanguage, setLanguage, translate } from "../src/i18n";
import { reasonSaid } from "../src/i18n/reasons";
import { codeWords, fetchWords, riskWord } from "../src/i18n/words";
import { explain } from "../src/shell/ErrorView";

test("before the words are here the service's own are told", async () => {
  expect(reasonSaid("zh", "delete", "rm deletes")).toBe("rm deletes");
  await fetchWords();
  expect(reasonSaid("zh", "delete", "rm deletes")).toBe("删除后无法恢复（rm deletes）");
});

test("a reason is told by its code, with what the service says of it", async () => {
  await fetchWords();
  const said = "rm deletes files permanently";
  expect(reasonSaid("en", "delete", said)).toBe(said);
  expect(reasonSaid("zh", "of_tomorrow", said)).toBe(said);
  expect(riskWord("zh", "toString")).toBeNull();
});

test("why a tool is off is told in Chinese by its code, with what it names", async () => {
  await fetchWords();
  const english = "Tool 'web_search' requires configuration: web.search_provider";
  expect(codeWords("zh", "missing_config", english, "web_search")).toBe(
    "web_search 缺少配置：web.search_provider。请补全配置。",
  );
  expect(codeWords("zh", "disabled_global", "")).toContain("该工具");
  expect(codeWords("zh", "of_tomorrow", english, "web_search")).toBeNull();
  expect(codeWords("en", "missing_config", english, "web_search")).toBeNull();
});

test("the number that a sentence begins with is told in the words of its code", async () => {
  await fetchWords();
  const english = "5 occurrences were missed while the service was stopped";
  expect(codeWords("zh", "times_missed", english)).toBe("服务停止期间错过了 5 次");
});

test("an error is told in the reader's language, with the service's own sentence after it", async () => {
  await fetchWords();
  const before = currentLanguage();
  const error = new ApiError({ code: "busy", detail: "run_1 is active" }, 409);
  const lost = new ApiError({ code: "unreachable" }, 0);
  const other = new ApiError({ code: "of_tomorrow", detail: "It rains" }, 500);
  setLanguage("zh");
  expect(explain(error, translate)).toEqual({
    what: "另一次运行正在进行",
    detail: "run_1 is active",
    fix: translate("error.busy.fix"),
  });
  expect(explain(lost, translate)).toMatchObject({ what: "服务没有响应。", detail: null });
  expect(explain(other, translate)).toEqual({ what: "It rains", detail: null, fix: null });
  setLanguage("en");
  expect(explain(error, translate)).toMatchObject({ what: "run_1 is active", detail: null });
  setLanguage(before);
});
