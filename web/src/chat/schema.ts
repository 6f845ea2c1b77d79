/** What a form makes of a JSON Schema. */
import { isObject, type Json, text } from "../renderers/data";

export type FieldKind = "text" | "long" | "choice" | "number" | "switch" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  required: boolean;
  help: string;
  choices: readonly string[];
  integer: boolean;
}

const LONG = new Set([
  "content",
  "command",
  "code",
  "text",
  "patch",
  "sql",
  "old_text",
  "new_text",
]);

export function fieldsOf(schema: unknown): Field[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(schema.properties).map(([name, raw]) => {
    const part = withoutNull(isObject(raw) ? raw : {});
    const choices = Array.isArray(part.enum)
      ? part.enum.filter((one) => typeof one === "string")
      : [];
    return {
      name,
      kind: kindOf(name, part, choices),
      required: required.has(name),
      help: text((isObject(raw) ? raw : {}).description),
      choices,
      integer: part.type === "integer",
    };
  });
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

/** `anyOf` of one type and null is that type, left out. */
function withoutNull(part: Json): Json {
  if (!Array.isArray(part.anyOf)) return part;
  const others = part.anyOf.filter((one) => isObject(one) && one.type !== "null");
  return others.length === 1 && isObject(others[0]) ? others[0] : {};
}

function kindOf(name: string, part: Json, choices: readonly string[]): FieldKind {
  if (choices.length > 0) return "choice";
  if (part.type === "string") return LONG.has(name) ? "long" : "text";
  if (part.type === "integer" || part.type === "number") return "number";
  return part.type === "boolean" ? "switch" : "json";
}

export type Values = Readonly<Record<string, string | boolean>>;

/** The arguments that a filled form stands for; the names of fields that do not fit. */
export function argumentsOf(
  fields: readonly Field[],
  values: Values,
): { args: Json; wrong: readonly string[] } {
  const args: Json = {};
  const wrong: string[] = [];
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined || value === "") {
      if (field.required && field.kind !== "switch") wrong.push(field.name);
      if (field.required && field.kind === "switch") args[field.name] = false;
      continue;
    }
    const read = readValue(field, value);
    if (read === undefined) wrong.push(field.name);
    else args[field.name] = read;
  }
  return { args, wrong };
}

function readValue(field: Field, value: string | boolean): unknown {
  if (field.kind === "switch") return value === true;
  const words = String(value);
  if (field.kind === "number") {
    const number = Number(words);
    const fits = words.trim() !== "" && Number.isFinite(number);
    return fits && (!field.integer || Number.isInteger(number)) ? number : undefined;
  }
  if (field.kind !== "json") return words;
  try {
    return JSON.parse(words);
  } catch {
    return undefined;
  }
}
