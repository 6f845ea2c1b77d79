/** Which call an event is about, and inside of which call it happened. */
import type { SessionState } from "./model";

type Calls = Pick<SessionState, "calls" | "attempts">;

/** The call that delegated to a run. */
export function delegatorOf(session: Calls, runId: string | null | undefined): string | null {
  for (const call of session.calls.values()) {
    if (call.subagents.some((one) => one.runId === runId)) return call.id;
  }
  return null;
}

/**
 * Which call an event is about.
 *
 * A call's id is its caller's, and may come again in another run; an attempt's never does.
 */
export function keyOf(
  session: Calls,
  event: { tool_call_id?: string | null; operation_id?: string | null },
): string | null {
  if (event.operation_id != null && session.calls.has(event.operation_id))
    return event.operation_id;
  return session.attempts.get(event.tool_call_id ?? "")?.at(-1) ?? null;
}

/** The call that what happened stands inside of: the one that delegated to its run. */
export function holderOf(
  session: Calls,
  event: { parent_tool_call_id?: string | null; run_id?: string | null },
): string | null {
  const attempts = session.attempts.get(event.parent_tool_call_id ?? "") ?? [];
  const delegated = attempts.find((id) =>
    session.calls.get(id)?.subagents.some((one) => one.runId === event.run_id),
  );
  return delegated ?? attempts.at(-1) ?? null;
}
