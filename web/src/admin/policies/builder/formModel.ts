/**
 * A rule as a form shows it.
 *
 * The definition is the rule: the form reads parts of it and changes those alone, so that what it
 * cannot express stays as it is.
 */
import { isObject, text } from "../../../renderers/data";
import type { Definition } from "../ruleWords";

export type Condition = "argv" | "command" | "paths" | "urls";
type Match = NonNullable<Definition["match"]>;
type WordPattern = NonNullable<Match["argv"]>[number];
type TypedWord = Extract<WordPattern, { type: unknown }>;
type Url = NonNullable<Match["urls"]>[number];

/**
 * One place in a command; `text` holds the word, the pattern, or words separated by commas.
 *
 * A typed word stays as it is in `typed`; it is written in JSON alone.
 */
export interface Word {
  kind: "exact" | "pattern" | "one_of" | "any" | "rest" | "typed";
  text: string;
  typed?: TypedWord;
}

const GLOB = /[*?[]/;
const LITERAL = /\[([*?[])\]/g;
const REST_AS_WORD = "[.]..";

export function matchOf(definition: Definition): Match {
  return isObject(definition.match) ? (definition.match as Match) : {};
}

/** The definition with other conditions; those that are empty go. */
export function withMatch(definition: Definition, changes: Partial<Match>): Definition {
  const merged = Object.entries({ ...matchOf(definition), ...changes }).filter(
    ([, value]) => value != null && !(Array.isArray(value) && value.length === 0),
  );
  const { match: _, ...others } = definition;
  return merged.length === 0
    ? (others as Definition)
    : { ...others, match: Object.fromEntries(merged) as Match };
}

/** The definition with another value of a field; without it for undefined. */
export function withField<Name extends keyof Definition>(
  definition: Definition,
  name: Name,
  value: Definition[Name] | undefined,
): Definition {
  const { [name]: _, ...others } = definition;
  return (value === undefined ? others : { ...others, [name]: value }) as Definition;
}

export function wordsOf(definition: Definition): Word[] {
  const { argv } = matchOf(definition);
  return Array.isArray(argv) ? argv.map(wordOf) : [];
}

function wordOf(pattern: WordPattern): Word {
  if (typeof pattern !== "string") {
    if (isTyped(pattern)) return { kind: "typed", text: globOf(pattern), typed: pattern };
    const choices: unknown = isObject(pattern) ? pattern.any_of : [];
    return { kind: "one_of", text: Array.isArray(choices) ? choices.join(", ") : "" };
  }
  if (pattern === "...") return { kind: "rest", text: "" };
  if (pattern === "*") return { kind: "any", text: "" };
  if (pattern === REST_AS_WORD) return { kind: "exact", text: "..." };
  const literal = pattern.replaceAll(LITERAL, "$1");
  const isLiteral = !GLOB.test(pattern.replaceAll(LITERAL, ""));
  return isLiteral ? { kind: "exact", text: literal } : { kind: "pattern", text: pattern };
}

const isTyped = (pattern: WordPattern): pattern is TypedWord =>
  isObject(pattern) && "type" in pattern;

/** The glob to start from where a typed word becomes a pattern. */
const globOf = ({ begins, ends }: TypedWord): string => `${begins ?? ""}*${ends ?? ""}`;

/** The pattern of a place; null where nothing has been written yet. */
export function patternOf({ kind, text: written, typed }: Word): WordPattern | null {
  if (kind === "typed") return typed ?? null;
  if (kind === "rest") return "...";
  if (kind === "any") return "*";
  if (kind === "one_of") {
    const choices = written
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
    return choices.length === 0 ? null : { any_of: choices };
  }
  if (written === "") return null;
  if (kind === "pattern") return written;
  return written === "..." ? REST_AS_WORD : written.replaceAll(/[*?[]/g, "[$&]");
}

export function withWords(definition: Definition, words: readonly Word[]): Definition {
  const argv = words.map(patternOf).filter((one): one is WordPattern => one !== null);
  return withMatch(definition, { argv });
}

export const linesOf = (values: unknown): string =>
  Array.isArray(values) ? values.filter((one) => typeof one === "string").join("\n") : "";

export const listOf = (written: string): string[] =>
  written
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Programs with any arguments. */
export function programsOf(definition: Definition): string {
  const command: unknown = matchOf(definition).command;
  return typeof command === "string" ? command : linesOf(command).replaceAll("\n", ", ");
}

export function withPrograms(definition: Definition, written: string): Definition {
  const names = written.split(/[\s,]+/).filter((one) => one !== "");
  return withMatch(definition, { command: names });
}

const isHost = (url: Url): boolean =>
  isObject(url) && Object.keys(url).length === 1 && typeof url.host === "string";

export function hostsOf(definition: Definition): string {
  const { urls } = matchOf(definition);
  return Array.isArray(urls)
    ? urls
        .filter(isHost)
        .map((one) => one.host)
        .join("\n")
    : "";
}

/** Other hosts; addresses that name more than a host stay. */
export function withHosts(definition: Definition, written: string): Definition {
  const { urls } = matchOf(definition);
  const kept = Array.isArray(urls) ? urls.filter((one) => !isHost(one)) : [];
  return withMatch(definition, { urls: [...listOf(written).map((host) => ({ host })), ...kept] });
}

export type ScopeKind = "global" | "agent" | "project" | "session";
const SCOPES: readonly ScopeKind[] = ["agent", "project", "session"];

export function scopeOf(definition: Definition): { kind: ScopeKind; id: string } {
  const scope = text(definition.scope);
  const at = scope.indexOf(":");
  const kind = SCOPES.find((one) => one === scope.slice(0, at));
  return kind === undefined ? { kind: "global", id: "" } : { kind, id: scope.slice(at + 1) };
}

export function withScope(definition: Definition, kind: ScopeKind, id: string): Definition {
  return withField(definition, "scope", kind === "global" ? undefined : `${kind}:${id}`);
}

/** What of a definition stands in JSON alone, by the names that JSON has for it. */
export function onlyInJson(definition: Definition): string[] {
  const match = matchOf(definition);
  const { urls } = match;
  return [
    ...Object.keys(match).filter((name) => !FORM_CONDITIONS.has(name)),
    ...(Array.isArray(urls) && !urls.every(isHost) ? ["urls"] : []),
    ...Object.keys(definition).filter((name) => !FORM_FIELDS.has(name)),
  ];
}

const FORM_CONDITIONS: ReadonlySet<string> = new Set(["argv", "command", "paths", "urls"]);
const FORM_FIELDS: ReadonlySet<string> = new Set([
  ...["tool", "match", "decision", "justification", "scope", "expires_at", "enabled"],
]);

/** Every field, so that those that were taken away are taken away where the rule is stored. */
export function wholeOf(definition: Definition): Definition {
  const empty = { match: {}, examples: {}, justification: "", scope: "global", expires_at: null };
  return { ...empty, enabled: true, ...definition } as Definition;
}

/** The definition as its effect is computed: a note that is still to be written changes nothing. */
export function previewOf(definition: Definition): Definition {
  const isMissing = text(definition.justification).trim() === "" && definition.decision !== "allow";
  return isMissing ? { ...definition, justification: "…" } : definition;
}

const DAY_MS = 86_400_000;

export const inDays = (days: number, now: number): string =>
  new Date(now + days * DAY_MS).toISOString().replace(/\.\d+Z$/, "Z");

/** A moment as a field for local times holds it; empty for none. */
export function localTime(moment: string | null | undefined): string {
  if (moment == null || Number.isNaN(Date.parse(moment))) return "";
  const at = new Date(moment);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function momentOf(local: string): string | undefined {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime())
    ? undefined
    : at.toISOString().replace(/\.\d+Z$/, "Z");
}
