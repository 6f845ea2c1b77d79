/** Forgetting several memories, of which some are refused. */
import { expect, test } from "vitest";
import { forgetEach, leftError, type Memory } from "../src/admin/knowledge/forgetting";
import { ApiError } from "../src/api/client";
import { translate } from "../src/i18n";

const memories = ["one", "two", "three"].map((key) => ({ id: `mem_${key}`, key }) as Memory);
const english: typeof translate = (key, values) => translate(key, values, "en");

/** Forget the memories; `answers` are errors by key. */
async function forgetting(answers: Record<string, number>) {
  const asked: string[] = [];
  const left = await forgetEach(memories, async ({ key }) => {
    asked.push(key);
    const status = answers[key];
    if (status !== undefined) {
      throw new ApiError({ code: `code_${status}`, detail: `refused ${key}` }, status);
    }
  });
  return { asked, left, keys: [...left.keys()].map((memory) => memory.key) };
}

test("one that is refused keeps no other", async () => {
  const { asked, keys, left } = await forgetting({ two: 412 });
  expect(asked).toEqual(["one", "two", "three"]);
  expect(keys).toEqual(["two"]);
  const error = leftError(3, left, english);
  expect(error.message).toBe("1 of 3 could not be deleted.");
  expect(error.details.errors).toEqual([
    {
      path: "two",
      code: "memory_left",
      message: "It changed after you selected it. Review it, then select it again.",
    },
  ]);
});

test("what is gone already is forgotten", async () => {
  expect((await forgetting({ one: 404, three: 404 })).keys).toEqual([]);
});

test("other refusals are told in the words of the service", async () => {
  const { left } = await forgetting({ one: 503 });
  expect(leftError(3, left, english).details.errors).toEqual([
    { path: "one", code: "memory_left", message: "refused one" },
  ]);
});

test.each([0, 401, 403])(
  "after status %s nothing more is tried, and all are left",
  async (status) => {
    const { asked, keys } = await forgetting({ two: status });
    expect(asked).toEqual(["one", "two"]);
    expect(keys).toEqual(["two", "three"]);
  },
);
