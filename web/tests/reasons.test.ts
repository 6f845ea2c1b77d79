/** Why something asks, with a word in Chinese before the service's sentence. */
import { expect, test } from "vitest";
import { reasonSaid, reasonWord } from "../src/i18n/reasons";

test("a reason is told by its code, with what the service says of it", () => {
  const said = "rm deletes without a way back";
  expect(reasonSaid("zh", "delete", said)).toBe("删除后无法恢复（rm deletes without a way back）");
  expect(reasonSaid("en", "delete", said)).toBe(said);
  expect(reasonSaid("zh", "of_tomorrow", said)).toBe(said);
  expect(reasonWord("zh", "toString")).toBeNull();
});
