/** The risk view and rules in words. */
import { describe, expect, test } from "vitest";
import {
  conditionsInWords,
  definitionOf,
  segmentsOf,
  VERDICT_TONE,
} from "../src/admin/policies/ruleWords";

describe("segmentsOf", () => {
  const segments = [
    { argv: ["cd", "/tmp"], text: "cd /tmp", cwd: "/workspace" },
    { argv: ["rm", "-rf", "a b"] },
  ];

  test("gives each command its own reasons, and none of another's", () => {
    const view = segmentsOf(segments, [
      { code: "delete", segment: 1, why: "rm deletes" },
      { code: "outside", segment: 1, why: "it lies outside" },
    ]);
    expect(view.segments.map((one) => one.reasons.map((reason) => reason.code))).toEqual([
      [],
      ["delete", "outside"],
    ]);
    expect(view.whole).toEqual([]);
  });

  test("never drops a finding: what names no command, or none that is there, is about all", () => {
    const view = segmentsOf(segments, [
      { code: "unreadable", segment: null, why: "cannot be read" },
      { code: "far", segment: 9, why: "from another list" },
    ]);
    expect(view.whole.map((one) => one.code)).toEqual(["unreadable", "far"]);
  });

  test("reads what has no text from its words, and keeps what is no segment harmless", () => {
    expect(segmentsOf(segments, []).segments[1]).toEqual({
      text: "rm -rf a b",
      cwd: null,
      reasons: [],
    });
    expect(segmentsOf(["junk"], []).segments).toEqual([{ text: "", cwd: null, reasons: [] }]);
  });
});

describe("rules in words", () => {
  test("names every condition", () => {
    const words = conditionsInWords({
      tool: "bash",
      decision: "deny",
      match: { command: ["git", "hg"], paths: ["/etc/**"], urls: [{ host: "example.com" }] },
    });
    expect(words).toBe("git | hg · /etc/** · *://example.com");
  });

  test("alternatives of one word are told apart from words", () => {
    const match = { argv: ["git", { any_of: ["push", "pull"] }] };
    expect(conditionsInWords({ tool: "bash", decision: "ask", match })).toBe("git (push|pull)");
  });

  test("a definition that cannot be read never looks like one that allows", () => {
    const { decision } = definitionOf({ definition: "garbage" });
    expect(VERDICT_TONE[decision]).toBe("bad");
  });
});
