/** The state that a batch of events builds, and how a call in it changes. */
import type {
  Call,
  Confirmation,
  Draft,
  Message,
  Placed,
  Question,
  Run,
  SessionState,
} from "./model";

/** A state under construction: maps and lists of its own, entries replaced and never changed. */
export interface Work {
  state: { -readonly [K in keyof SessionState]: SessionState[K] };
  messages: Map<string, Message>;
  drafts: Map<string, Draft>;
  calls: Map<string, Call>;
  attempts: Map<string, readonly string[]>;
  runs: Map<string, Run>;
  confirmations: Map<string, Confirmation>;
  questions: Map<string, Question>;
  items: Placed[];
  parents: Map<string, string | null>;
}

export function changeCall(
  work: Work,
  id: string | null | undefined,
  change: (call: Call) => Partial<Call>,
): void {
  const call = id == null ? undefined : work.calls.get(id);
  if (call !== undefined) work.calls.set(call.id, { ...call, ...change(call) });
}
