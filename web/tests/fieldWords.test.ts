/** What is wrong with a field, in Chinese. */
import { beforeAll, expect, test } from "vitest";
import { fetchFieldWords, fieldProblems, fieldSaid } from "../src/i18n/fieldWords";

const LIMIT = {
  path: "body.limit",
  message: "Input should be less than or equal to 500",
  code: "less_than_equal",
  values: { le: 500 },
};

beforeAll(fetchFieldWords);

test("a limit is told with its value", () => {
  expect(fieldSaid("zh", LIMIT)).toEqual({ what: "不得大于 500", detail: null });
  expect(fieldSaid("en", LIMIT)).toEqual({ what: LIMIT.message, detail: null });
});

test("choices are listed as Chinese lists them, whatever stands in them", () => {
  const expected = "'a, b', 'c or d' or 'e'";
  const problem = { path: "sort", message: "Input …", code: "literal_error", values: { expected } };
  expect(fieldSaid("zh", problem).what).toBe("须为下列之一：'a, b'、'c or d'、'e'");
});

test("what goes together is told by its names", () => {
  const values = { given: "reply", needed: "post, body" };
  const problem = { path: "arguments", message: "reply needs …", code: "needs", values };
  expect(fieldSaid("zh", problem).what).toBe("使用 reply 时须填写 post、body");
});

test("what is in no words is told by the service's sentence after a lead", () => {
  const problem = { path: "arguments", message: "give the one or the other", code: "value_error" };
  expect(fieldSaid("zh", problem)).toEqual({ what: "不符合要求", detail: problem.message });
});

test.each([
  { ...LIMIT, values: undefined },
  { ...LIMIT, values: { ge: 1 } },
  { ...LIMIT, code: "of_a_plugin" },
  { ...LIMIT, code: "toString" },
  { path: LIMIT.path, message: LIMIT.message },
])("without a word or its value the service's sentence stands alone", (problem) => {
  expect(fieldSaid("zh", problem)).toEqual({ what: LIMIT.message, detail: null });
});

test("details without fields name none", () => {
  expect(fieldProblems({})).toEqual([]);
  expect(fieldProblems({ errors: "no list" })).toEqual([]);
  expect(fieldProblems({ errors: [LIMIT] })).toEqual([LIMIT]);
  expect(fieldProblems({ errors: [null, 1, "x", { path: 1, message: [] }] })).toEqual([]);
});
