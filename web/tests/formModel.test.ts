/** The form of a rule: what it reads of a definition and writes back, with nothing lost. */
import { expect, test } from "vitest";
import {
  hostsOf,
  inDays,
  localTime,
  momentOf,
  onlyInJson,
  patternOf,
  previewOf,
  programsOf,
  scopeOf,
  type Word,
  wholeOf,
  withField,
  withHosts,
  withMatch,
  withPrograms,
  withScope,
  withWords,
  wordsOf,
} from "../src/admin/policies/builder/formModel";
import type { Definition } from "../src/admin/policies/ruleWords";

const rule = (match?: Definition["match"]): Definition => ({
  tool: "bash",
  decision: "ask",
  ...(match === undefined ? {} : { match }),
});

const WORDS: [NonNullable<NonNullable<Definition["match"]>["argv"]>[number], Word][] = [
  ["git", { kind: "exact", text: "git" }],
  ["...", { kind: "rest", text: "" }],
  ["*", { kind: "any", text: "" }],
  ["[*].pyc", { kind: "exact", text: "*.pyc" }],
  ["[.]..", { kind: "exact", text: "..." }],
  ["*.pyc", { kind: "pattern", text: "*.pyc" }],
  ["a[bc]", { kind: "pattern", text: "a[bc]" }],
  [{ any_of: ["-f", "-rf"] }, { kind: "one_of", text: "-f, -rf" }],
  [
    { type: "path", begins: "tmp/", ends: ".log" },
    {
      kind: "typed",
      text: "tmp/*.log",
      typed: { type: "path", begins: "tmp/", ends: ".log" },
    },
  ],
];

test.each(WORDS)("%j is read as a word and written back unchanged", (pattern, word) => {
  expect(wordsOf(rule({ argv: [pattern] }))).toEqual([word]);
  expect(patternOf(word)).toEqual(pattern);
});

test("a word that is still empty is no part of the rule", () => {
  const words: Word[] = [
    { kind: "exact", text: "rm" },
    { kind: "exact", text: "" },
    { kind: "one_of", text: " , " },
  ];
  expect(withWords(rule(), words)).toEqual(rule({ argv: ["rm"] }));
  expect(withWords(rule({ argv: ["rm"] }), [])).toEqual(rule());
});

test("what the form does not show stays, and is named", () => {
  const fields = { timeout: { range: { max: 5 } } };
  const port = { host: "x.org", port: 8443 };
  const given = rule({ urls: [{ host: "a.org" }, port], fields });
  expect(onlyInJson({ ...given, examples: { match: ["ls"] } })).toEqual([
    "fields",
    "urls",
    "examples",
  ]);
  expect(hostsOf(given)).toBe("a.org");
  expect(withHosts(given, "b.org\n\n c.org ")).toEqual(
    rule({ urls: [{ host: "b.org" }, { host: "c.org" }, port], fields }),
  );
  expect(withMatch(given, { paths: ["src/**"] }).match?.fields).toEqual(fields);
});

test("programs are one text, whatever separates them", () => {
  expect(withPrograms(rule(), "rm, rmdir  unlink")).toEqual(
    rule({ command: ["rm", "rmdir", "unlink"] }),
  );
  expect(programsOf(rule({ command: "rm" as unknown as string[] }))).toBe("rm");
});

test("a scope is taken apart and put together", () => {
  expect(scopeOf(withScope(rule(), "project", "web:1"))).toEqual({ kind: "project", id: "web:1" });
  expect(withScope(withScope(rule(), "agent", "a"), "global", "")).toEqual(rule());
  expect(scopeOf({ ...rule(), scope: 7 as unknown as string })).toEqual({ kind: "global", id: "" });
});

test("times are whole seconds with a zone", () => {
  expect(inDays(30, Date.parse("2026-01-01T00:00:00.5Z"))).toBe("2026-01-31T00:00:00Z");
  expect(momentOf(localTime("2026-01-31T10:30:00Z"))).toBe("2026-01-31T10:30:00Z");
  expect([localTime(null), localTime("nonsense"), momentOf("")]).toEqual(["", "", undefined]);
});

test("what was taken away is taken away where the rule is stored", () => {
  expect(wholeOf(rule())).toEqual({
    tool: "bash",
    decision: "ask",
    match: {},
    examples: {},
    justification: "",
    scope: "global",
    expires_at: null,
    enabled: true,
  });
  expect(withField({ ...rule(), enabled: false }, "enabled", undefined)).toEqual(rule());
});

test("a note that is still to be written does not hide the effect", () => {
  expect(previewOf(rule()).justification).toBe("…");
  expect(previewOf({ ...rule(), decision: "allow" }).justification).toBeUndefined();
});
