/** A call in one line. */
import { text } from "../../../renderers/data";

const LONGEST = 110;

export function callLine(tool: string, args: Record<string, unknown>): string {
  const words = text(args.command) || JSON.stringify(args);
  const line = `${tool}  ${words.replaceAll(/\s+/g, " ").trim()}`;
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
