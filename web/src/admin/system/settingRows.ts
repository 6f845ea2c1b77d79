/** Which settings a search wants. */
import type { Schemas } from "../../api/client";

export type Setting = Schemas["EffectiveSetting"];

/** Those that hold every word in name, variable or help, of one origin; "" is any. */
export function wantedSettings(rows: readonly Setting[], words: string, origin: string) {
  const needed = words.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const told = `${row.name} ${row.environment_name} ${row.help}`.toLowerCase();
    return (origin === "" || row.origin === origin) && needed.every((word) => told.includes(word));
  });
}
