/** The golden events of the service: the same files that its own tests hold it to. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DurableEvent } from "../src/events/messages";

const FOLDER = join(import.meta.dirname, "../../tests/events/golden");

export const GOLDEN_NAMES = readdirSync(FOLDER).map((name) => name.replace(/\.json$/, ""));

/** One golden event, with other fields where a test needs them. */
export function golden<T extends DurableEvent["type"]>(
  name: string,
  changes: Record<string, unknown> = {},
): Extract<DurableEvent, { type: T }> {
  const event = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
  return { ...event, ...changes };
}

/** A log in order: `seq` counts from 1. */
export function log(...events: DurableEvent[]): DurableEvent[] {
  return events.map((event, index) => ({ ...event, seq: index + 1 }));
}
