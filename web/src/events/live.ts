/** Live output: it may be dropped on the way, and the durable event that follows heals it. */
import { keyOf } from "./attempts";
import type { EphemeralEvent } from "./messages";
import type { Draft, OutputPiece } from "./model";
import { changeCall, type Work } from "./work";

/** Characters of live output that are kept of one call; the whole is in its result. */
export const MAX_LIVE = 256 * 1024;

type Of<T extends EphemeralEvent["type"]> = Extract<EphemeralEvent, { type: T }>;

export function deltaInto(
  work: Work,
  event: Of<"text_delta"> | Of<"thinking_delta"> | Of<"tool_input_delta">,
): void {
  if (work.messages.has(event.message_id)) return; // late: the message is whole by now
  const draft = work.drafts.get(event.message_id) ?? newDraft(event);
  if (event.type === "tool_input_delta") {
    const former = draft.writing?.tool === event.tool_name ? draft.writing.json : "";
    const writing = { tool: event.tool_name, json: former + event.partial_json };
    work.drafts.set(draft.id, { ...draft, writing });
    return;
  }
  const field = event.type === "text_delta" ? "text" : "thinking";
  const expected = draft.nextChunk[field] ?? 0;
  if (!event.snapshot && event.chunk_to <= expected) return; // seen
  const kept = event.snapshot ? "" : draft[field];
  const hole = !event.snapshot && event.chunk_from > expected ? " … " : "";
  work.drafts.set(draft.id, {
    ...draft,
    [field]: kept + hole + event.text,
    nextChunk: { ...draft.nextChunk, [field]: event.chunk_to },
  });
}

function newDraft(event: { message_id: string; run_id?: string | null }): Draft {
  return {
    id: event.message_id,
    runId: event.run_id ?? null,
    text: "",
    thinking: "",
    writing: null,
    nextChunk: {},
  };
}

export function outputInto(work: Work, event: Of<"tool_result_streamed">): void {
  changeCall(work, keyOf(work, event), (call) => {
    const expected = call.nextChunk[event.stream] ?? 0;
    if (!event.snapshot && event.chunk_to <= expected) return {};
    const text = event.text ?? "";
    const gap = !event.snapshot && event.chunk_from > expected;
    const before = event.snapshot
      ? call.output.filter((piece) => piece.stream !== event.stream)
      : call.output;
    return {
      output: bounded(appended(before, { stream: event.stream, text, gap })),
      nextChunk: { ...call.nextChunk, [event.stream]: event.chunk_to },
    };
  });
}

function appended(pieces: readonly OutputPiece[], piece: OutputPiece): readonly OutputPiece[] {
  const last = pieces.at(-1);
  if (last === undefined || last.stream !== piece.stream || piece.gap) return [...pieces, piece];
  return [...pieces.slice(0, -1), { ...last, text: last.text + piece.text }];
}

/** The newest output, up to a bound. */
function bounded(pieces: readonly OutputPiece[]): readonly OutputPiece[] {
  let size = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  if (size <= MAX_LIVE) return pieces;
  const kept = [...pieces];
  while (size > MAX_LIVE) {
    const first = kept[0];
    if (first === undefined) break;
    const over = size - MAX_LIVE;
    if (first.text.length <= over) {
      kept.shift();
      size -= first.text.length;
    } else {
      kept[0] = { ...first, text: first.text.slice(over), gap: true };
      size -= over;
    }
  }
  return kept;
}

export function progressInto(work: Work, event: Of<"process_progress">): void {
  changeCall(work, keyOf(work, event), () => ({
    progress: {
      stage: event.stage,
      message: event.message ?? null,
      percent: event.progress?.percent ?? null,
    },
  }));
}
