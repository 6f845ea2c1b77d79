/** What is odd about a rule, in Chinese. */
import { expect, test } from "vitest";
import { ruleWarning } from "../src/i18n/ruleWarnings";

test("a warning is told in the reader's language, the service's sentence beneath", () => {
  const said = "deny-all says deny to everything it matches";
  expect(ruleWarning("zh", "unreachable", said)).toEqual({
    what: "另一条更严格的规则已覆盖其全部匹配",
    detail: said,
  });
  expect(ruleWarning("zh", "of_tomorrow", said)).toEqual({ what: said, detail: null });
  expect(ruleWarning("en", "unreachable", said)).toEqual({ what: said, detail: null });
});
