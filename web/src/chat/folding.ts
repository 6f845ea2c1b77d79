/** Which calls stand together as "Used N tools". */
import type { Placed, SessionState } from "../events/model";
import { text } from "../renderers/data";
import { refusalsOf } from "../renderers/networkUse";

export type Drawn =
  | { kind: "one"; item: Placed }
  | { kind: "fold"; id: string; calls: readonly string[] };

/** Fewer are no saving. */
const FEWEST = 2;
/** As many as may be drawn at once when the fold is opened. */
const MOST = 100;

/** A call that can be folded, what nobody sees, and everything else, which ends a fold. */
type Mark = "f" | "-" | ".";

/** One sign for each item, so that it is told by value whether a fold has changed. */
export function marksOf(
  session: Pick<SessionState, "calls" | "messages">,
  items: readonly Placed[],
  kept: ReadonlySet<string>,
): string {
  return items.map((item) => markOf(session, item, kept)).join("");
}

function markOf(
  { calls, messages }: Pick<SessionState, "calls" | "messages">,
  item: Placed,
  kept: ReadonlySet<string>,
): Mark {
  if (item.kind === "message") {
    const content = messages.get(item.id)?.content ?? [];
    const seen = content.some(
      (block) =>
        !["tool_use", "text", "thinking"].includes(text(block.type)) ||
        (block.type !== "tool_use" && text(block.text ?? block.thinking).trim() !== ""),
    );
    return seen ? "." : "-";
  }
  const call = item.kind === "call" ? calls.get(item.id) : undefined;
  // What failed, waits or was not allowed stays in sight; so do pictures, sub-agents and commands
  // with a connection that was refused.
  const quiet =
    call !== undefined &&
    (call.status === "success" || call.status === "skipped") &&
    call.raw?.type !== "image" &&
    call.subagents.length === 0 &&
    refusalsOf(call.raw).length === 0 &&
    !kept.has(call.id);
  return quiet ? "f" : ".";
}

/** The items as they are drawn: calls that went well one after another as one. */
export function drawn(items: readonly Placed[], marks: string): Drawn[] {
  const result: Drawn[] = [];
  let group: Placed[] = [];
  const end = () => {
    const [first] = group;
    if (first !== undefined && group.length >= FEWEST) {
      result.push({ kind: "fold", id: first.id, calls: group.map((item) => item.id) });
    } else result.push(...group.map((item): Drawn => ({ kind: "one", item })));
    group = [];
  };
  items.forEach((item, index) => {
    const mark = marks[index];
    if (mark === "-") return;
    if (mark !== "f" || group.length === MOST) end();
    if (mark === "f") group.push(item);
    else result.push({ kind: "one", item });
  });
  end();
  return result;
}
