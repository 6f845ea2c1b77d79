import { describe, expect, it } from "vitest";
import {
  endOf,
  furtherConditions,
  titleParts,
} from "../src/admin/policies/proposals/proposalWords";
import type { Definition } from "../src/admin/policies/ruleWords";

const DAY_MS = 86_400_000;
const PROVEN = "2026-11-21T09:30:00.000Z";
const RULE: Definition = {
  tool: "bash",
  decision: "allow",
  expires_at: "2026-11-23T09:30:00.000Z",
  match: {
    argv: ["rm", "a.log"],
    paths: ["/srv/shop/**"],
    fields: { pty: { equals: false }, timeout: { range: { min: 0, max: 9 } } },
  },
};

describe("a title", () => {
  it("has the calls in its middle", () => {
    expect(titleParts("Allow `rm a.log` until 2027-02-16", "rm a.log")).toEqual([
      "Allow ",
      "rm a.log",
      " until 2027-02-16",
    ]);
  });

  it("stays whole where it does not name them", () => {
    expect(titleParts("Allow it", "rm a.log")).toEqual(["Allow it", "", ""]);
  });
});

describe("the end of a rule", () => {
  const now = Date.parse("2026-12-01T00:00:00.000Z");

  it("counts from its acceptance while it is open", () => {
    expect(endOf(RULE, PROVEN, now)).toEqual(new Date(now + 2 * DAY_MS));
  });

  it("is what was stored once it is decided", () => {
    expect(endOf(RULE, PROVEN, now, false)).toEqual(new Date("2026-11-23T09:30:00.000Z"));
  });

  it("is nothing where it does not end", () => {
    expect(endOf({ ...RULE, expires_at: null }, PROVEN, now)).toBeNull();
  });
});

describe("conditions beside the command and its paths", () => {
  it("are in words where they are values", () => {
    expect(furtherConditions(RULE)).toBe('pty = false · timeout: {"range":{"min":0,"max":9}}');
  });

  it("are none where there are none", () => {
    expect(furtherConditions({ tool: "bash", decision: "deny" })).toBe("");
  });
});
