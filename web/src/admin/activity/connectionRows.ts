/** Rows of connections: what is asked for, and the host that would allow one. */
import { placeOf } from "../../renderers/networkUse";

/** What a field for a time holds. */
const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** Filters as the service reads them: times of the reader's clock become moments. */
export function askedOf(wanted: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) => {
      if (name !== "since" && name !== "until") return [[name, value]];
      const moment = new Date(MINUTE.test(value) ? value : "");
      return Number.isNaN(moment.getTime()) ? [] : [[name, moment.toISOString()]];
    }),
  );
}

const DEFAULT_PORT = 443;

/** What the allowed hosts of a project need for it: the port is left out where it is the usual one. */
export function ruleFor(host: string, port: number): string {
  if (port !== 0 && port !== DEFAULT_PORT) return placeOf(host, port);
  return host.includes(":") ? `[${host}]` : host;
}
