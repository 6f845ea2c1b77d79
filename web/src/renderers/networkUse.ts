/** What a command reached over the network, as its result tells it. */
import { isObject, number, text } from "./data";

export interface NetworkUse {
  host: string;
  /** 0 for a name lookup. */
  port: number;
  verdict: string;
  code: string | null;
  reason: string;
  connections: number;
  up: number;
  down: number;
}

/** The rows of a terminal's result; none where it used no network. */
export function readNetwork(data: unknown): NetworkUse[] {
  if (!isObject(data) || !Array.isArray(data.network)) return [];
  return data.network
    .filter(isObject)
    .filter((row) => text(row.host) !== "")
    .map((row) => ({
      host: text(row.host),
      port: number(row.port) ?? 0,
      verdict: text(row.verdict),
      code: text(row.code) || null,
      reason: text(row.reason),
      connections: number(row.connections) ?? 1,
      up: number(row.bytes_up) ?? 0,
      down: number(row.bytes_down) ?? 0,
    }));
}

export const isRefused = ({ verdict }: { verdict: string }): boolean => verdict === "refused";

/** The refusals of a call's result. */
export const refusalsOf = (raw: { type: string; data: unknown } | null): NetworkUse[] =>
  raw?.type === "terminal" ? readNetwork(raw.data).filter(isRefused) : [];

/** `host:port`; the host alone for a name lookup. */
export function placeOf(host: string, port: number): string {
  if (port === 0) return host;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Hosts that were reached and that were refused, and the bytes in both directions. */
export function usedIn(rows: readonly NetworkUse[]): {
  hosts: number;
  refused: number;
  bytes: number;
} {
  const hostsOf = (some: readonly NetworkUse[]) => new Set(some.map((row) => row.host)).size;
  return {
    hosts: hostsOf(rows.filter((row) => !isRefused(row))),
    refused: hostsOf(rows.filter(isRefused)),
    bytes: rows.reduce((sum, row) => sum + row.up + row.down, 0),
  };
}

/** Reasons of refusals, each once, with the code that goes with it. */
export function reasonsOf(rows: readonly NetworkUse[]): NetworkUse[] {
  const refused = rows.filter(isRefused);
  return [...new Map(refused.map((row) => [row.reason || row.host, row])).values()];
}
