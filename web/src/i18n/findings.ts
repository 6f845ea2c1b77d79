/** What the doctor and the sandbox say, in Chinese: by the codes that come with the sentences.

In English the service's own words are shown. What has no words here is shown in them too.
*/
import type { Schemas } from "../api/client";
import type { Language } from ".";
import chinese from "./findings.zh.json";
import { codeWords } from "./words";

type Finding = Schemas["Finding"];
type Level = Schemas["LevelView"];
type Words = Pick<Finding, "name" | "meaning" | "found" | "fix">;

const SUBJECTS: Readonly<Record<string, Omit<Words, "found">>> = chinese.subjects;
const FOUND: Readonly<Record<string, string>> = chinese.found;

/** The sentences of a finding in the reader's language. */
export function finding(language: Language, check: Finding): Words {
  const subject = SUBJECTS[check.code];
  const found = FOUND[check.found_code];
  if (language !== "zh" || subject === undefined || found === undefined) return check;
  const values = { ...check.values };
  const { reason } = values;
  if (reason !== undefined) {
    // Why a tool is off, and what to do about it, is one sentence there.
    const words = codeWords(language, reason, check.meaning, values.tool);
    values.message = words ?? check.meaning;
    if (words !== null) values.fix = "";
  }
  const fill = (template: string) => filled(template, values);
  return {
    name: fill(subject.name),
    meaning: fill(subject.meaning),
    found: fill(found),
    fix: check.fix === "" ? "" : fill(subject.fix),
  };
}

/** What a level of the sandbox is worth here, in the reader's language. */
export function levelSaid(language: Language, level: Level): string {
  const template = FOUND[`sandbox.${level.code}`];
  if (language !== "zh" || template === undefined) return level.sentence;
  return filled(template, { why: level.why, sentence: level.sentence });
}

/** A layer of the sandbox, and what it is for, in Chinese; by its name alone otherwise. */
export function layerSaid(language: Language, layer: string): string {
  const subject = SUBJECTS[`layer.${layer}`];
  if (language !== "zh" || subject === undefined) return layer;
  return `${subject.name}（${subject.meaning}）`;
}

function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
