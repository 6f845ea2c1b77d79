/** Which tables of a database are chosen, as the picker holds them. */
import type { Schemas } from "../../api/client";

export type AllowedTable = Schemas["AdminSource"]["tables"][number];
type Discovered = Schemas["DiscoveredTable"];

/** A table in the picker: allowed or not, there or not. */
export interface Row {
  key: string;
  schema: string;
  name: string;
  /** What the database says of it; null when it is not there, or was not asked for. */
  found: Discovered | null;
}

export type Picks = ReadonlyMap<string, readonly string[]>;

/** A name may hold a full stop, so that two texts with one between them could be either. */
export const keyOf = (schema: string, name: string): string => JSON.stringify([schema, name]);

export const picksOf = (tables: readonly AllowedTable[]): Picks =>
  new Map(tables.map((table) => [keyOf(table.schema, table.name), table.masked ?? []]));

export const tablesOf = (picks: Picks): { schema: string; name: string; masked: string[] }[] =>
  [...picks].map(([key, masked]) => {
    const [schema = "", name = ""] = JSON.parse(key) as string[];
    return { schema, name, masked: [...masked] };
  });

/** What was found, and what is allowed without having been found, by name. */
export function rowsOf(found: readonly Discovered[], picks: Picks): Row[] {
  const rows = new Map<string, Row>();
  for (const { schema, name } of tablesOf(picks)) {
    const key = keyOf(schema, name);
    rows.set(key, { key, schema, name, found: null });
  }
  for (const table of found) {
    const key = keyOf(table.schema, table.name);
    rows.set(key, { key, schema: table.schema, name: table.name, found: table });
  }
  return [...rows.values()].sort((one, other) =>
    `${one.schema}.${one.name}`.localeCompare(`${other.schema}.${other.name}`),
  );
}

export function withTable(picks: Picks, key: string, isAllowed: boolean): Picks {
  const changed = new Map(picks);
  if (isAllowed) changed.set(key, changed.get(key) ?? []);
  else changed.delete(key);
  return changed;
}

/** The service compares names of columns without their case. */
export const isMasked = (masked: readonly string[], column: string): boolean =>
  masked.some((name) => name.toLowerCase() === column.toLowerCase());

export function withMask(picks: Picks, key: string, column: string, hide: boolean): Picks {
  const others = (picks.get(key) ?? []).filter(
    (name) => name.toLowerCase() !== column.toLowerCase(),
  );
  return new Map(picks).set(key, hide ? [...others, column] : others);
}
