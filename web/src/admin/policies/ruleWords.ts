/** Rules and verdicts in words. */
import type { Schemas } from "../../api/client";
import { isObject } from "../../renderers/data";
import type { PillTone } from "../parts/Bits";

export type Definition = Schemas["RuleDefinition"];

export const VERDICT_TONE: Readonly<Record<string, PillTone>> = {
  allow: "ok",
  safe: "ok",
  ask: "warn",
  deny: "bad",
};

export const RISK_TONE: Readonly<Record<string, PillTone>> = {
  low: "ok",
  medium: "warn",
  high: "bad",
  critical: "bad",
};

/** A stored rule's definition; one from a file may be anything. */
export function definitionOf(rule: { definition?: unknown }): Definition {
  return isObject(rule.definition)
    ? (rule.definition as unknown as Definition)
    : { tool: "?", decision: "deny" };
}

type WordPattern = NonNullable<NonNullable<Definition["match"]>["argv"]>[number];

/** One word of a command: as it stands, one of several, or any of a kind. */
export function wordInWords(word: WordPattern): string {
  if (typeof word === "string") return word;
  if ("any_of" in word) return `(${word.any_of.join("|")})`;
  return `${word.begins ?? ""}<${word.type}>${word.ends ?? ""}`;
}

/** What a rule looks at, in one line. */
export function conditionsInWords(definition: Definition): string {
  const match = definition.match;
  if (match == null) return "";
  const parts: string[] = [];
  if (match.argv != null) {
    parts.push(match.argv.map(wordInWords).join(" "));
  }
  if (match.command != null) parts.push(match.command.join(" | "));
  if (match.paths != null) parts.push(match.paths.join(", "));
  if (match.urls != null) {
    parts.push(match.urls.map((url) => `${url.scheme ?? "*"}://${url.host ?? "*"}`).join(", "));
  }
  if (match.fields != null) parts.push(JSON.stringify(match.fields));
  return parts.join(" · ");
}

export interface Segment {
  text: string;
  cwd: string | null;
  reasons: readonly { code: string; why: string }[];
}

/** The commands that a shell would run, each with what speaks against it. */
export function segmentsOf(
  segments: readonly unknown[],
  findings: readonly { code: string; segment: number | null; why: string }[],
): { segments: Segment[]; whole: { code: string; why: string }[] } {
  const about = (index: number | null) =>
    findings.filter((finding) => finding.segment === index).map(({ code, why }) => ({ code, why }));
  return {
    segments: segments.map((raw, index) => {
      const one = isObject(raw) ? raw : {};
      const argv = Array.isArray(one.argv) ? one.argv.map(String) : [];
      return {
        text: typeof one.text === "string" ? one.text : argv.join(" "),
        cwd: typeof one.cwd === "string" ? one.cwd : null,
        reasons: about(index),
      };
    }),
    // What is about no single command is about all of it.
    whole: findings
      .filter(({ segment }) => segment === null || segment >= segments.length)
      .map(({ code, why }) => ({ code, why })),
  };
}
