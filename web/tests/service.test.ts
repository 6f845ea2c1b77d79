/** What the service says, in Chinese. */
import { expect, test } from "vitest";
import { spoken } from "../src/i18n/service";

test("a reason is told in Chinese by its code, with what it names", () => {
  const english = "'web_search' needs what is not configured: web.search_provider";
  const told = (code: string) => spoken("zh", code, english, { name: "web_search" });
  expect(told("reason.missing_config")).toBe(
    "web_search 缺少配置：web.search_provider。请补全配置。",
  );
  expect(told("reason.of_tomorrow")).toBe(english);
  expect(spoken("en", "reason.missing_config", english, { name: "web_search" })).toBe(english);
});
