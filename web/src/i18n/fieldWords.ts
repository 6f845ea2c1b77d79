/** What is wrong with a field, in Chinese: by the code that comes with the service's sentence. */
import type { Schemas } from "../api/client";
import { isObject } from "../renderers/data";
import type { Language } from ".";
import { lazily, wordOf } from "./lazily";

export type FieldProblem = Pick<Schemas["FieldProblem"], "path" | "message"> &
  Partial<Schemas["FieldProblem"]>;

interface Words {
  /** They say everything. */
  told: Readonly<Record<string, string>>;
  /** They lead to the service's sentence, which says what is wrong. */
  led: Readonly<Record<string, string>>;
}

const words = lazily<Words>(async () => (await import("./fields.zh.json")).default, {
  told: {},
  led: {},
});

/** Have the words of fields; until then the service's sentences stand for them. */
export const fetchFieldWords = words.fetch;

export interface FieldSaid {
  what: string;
  /** The service's own sentence, where `what` does not say all of it. */
  detail: string | null;
}

/** The sentence alone in English, and for what has no words: of plugins and other servers. */
export function fieldSaid(language: Language, problem: FieldProblem): FieldSaid {
  const { code = "", message } = problem;
  const own: FieldSaid = { what: message, detail: null };
  if (language !== "zh") return own;
  const template = wordOf(words.now().told, code);
  const whole = template === null ? null : filled(template, problem.values ?? {});
  if (whole !== null) return { what: whole, detail: null };
  const lead = wordOf(words.now().led, code);
  return lead === null ? own : { what: lead, detail: message };
}

/** Of fields and actions, one after the other. */
const NAMES = new Set(["given", "needed"]);

/** Null when a value is missing: what an older service or a plugin says has none. */
function filled(
  template: string,
  values: Readonly<Record<string, string | number>>,
): string | null {
  let whole = true;
  const text = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) whole = false;
    const text = String(value);
    return NAMES.has(name) ? text.replaceAll(", ", "、") : listed(text);
  });
  return whole ? text : null;
}

/** `'a', 'b' or 'c'` as Chinese lists it. */
const listed = (value: string): string => value.replace(/(?<=')(?:, | or )(?=')/g, "、");

/** The fields that an error's details name; a tool's own details may hold anything there. */
export function fieldProblems(details: Readonly<Record<string, unknown>>): FieldProblem[] {
  return Array.isArray(details.errors) ? details.errors.filter(isProblem) : [];
}

const isProblem = (one: unknown): one is FieldProblem =>
  isObject(one) && typeof one.path === "string" && typeof one.message === "string";
