/**
 * From events to what is shown: a pure function.
 *
 * A batch of events makes one new state. What no event touched stays the same object, so that a
 * page draws again only what has changed.
 */
import { delegatorOf, holderOf, keyOf } from "./attempts";
import { deltaInto, outputInto, progressInto } from "./live";
import {
  type DurableEvent,
  isDurable,
  type SessionEvent,
  type Subscribed,
  type Usage,
} from "./messages";
import {
  type Confirmation,
  type Item,
  type Note,
  openConfirmation,
  type Run,
  type SessionState,
  type Subagent,
} from "./model";
import { changeCall, type Work } from "./work";

export function reduce(state: SessionState, events: readonly SessionEvent[]): SessionState {
  if (events.length === 0) return state;
  const work = begin(state);
  for (const event of events) {
    if (isDurable(event)) {
      if (event.epoch === work.state.epoch && event.seq <= work.state.seq) continue;
      work.state.epoch = event.epoch;
      work.state.seq = event.seq;
      durable(work, event);
    } else if (event.type === "tool_result_streamed") outputInto(work, event);
    else if (event.type === "process_progress") progressInto(work, event);
    else if (
      event.type === "text_delta" ||
      event.type === "thinking_delta" ||
      event.type === "tool_input_delta"
    )
      deltaInto(work, event);
  }
  return finish(work);
}

/** What the service says is open right now; it stands in for events that lie far back. */
export function reconcile(state: SessionState, message: Subscribed): SessionState {
  const work = begin(state);
  for (const open of message.pending_confirmations ?? []) {
    const request = open as unknown as Extract<DurableEvent, { type: "tool_confirmation_request" }>;
    if (!work.confirmations.has(request.confirmation_id)) confirmationAsked(work, request);
  }
  for (const open of message.pending_questions ?? []) {
    const asked = open as unknown as Extract<DurableEvent, { type: "question_asked" }>;
    if (!work.questions.has(asked.question_id)) questionAsked(work, asked);
  }
  return finish(work);
}

function begin(state: SessionState): Work {
  return {
    state: { ...state },
    messages: new Map(state.messages),
    drafts: new Map(state.drafts),
    calls: new Map(state.calls),
    attempts: new Map(state.attempts),
    runs: new Map(state.runs),
    confirmations: new Map(state.confirmations),
    questions: new Map(state.questions),
    items: [...state.items],
    parents: new Map(state.parents),
  };
}

function finish(work: Work): SessionState {
  const { state, items, parents, ...maps } = work;
  // Both are only added to: of the same size they are the same.
  return {
    ...state,
    ...maps,
    items: items.length === state.items.length ? state.items : items,
    parents: parents.size === state.parents.size ? state.parents : parents,
  };
}

function durable(work: Work, event: DurableEvent): void {
  switch (event.type) {
    case "run_started":
      return runStarted(work, event);
    case "run_resumed":
      // Deltas of a message that did not come to its end are void.
      dropDrafts(work, event.run_id ?? null);
      return note(work, event, { type: "resumed", at: event.ts });
    case "run_finished":
      return runFinished(work, event);
    case "session_branched":
      work.state.leaf = event.message_id ?? null;
      work.state.branched = true;
      return;
    case "context_compacted":
      grow(work, event.message_id);
      return note(work, event, { type: "compacted", at: event.ts });
    case "message_completed":
      return messageCompleted(work, event);
    case "tool_call_started":
      return callStarted(work, event);
    case "tool_call_completed":
      return callCompleted(work, event);
    case "tool_confirmation_request":
      return confirmationAsked(work, event);
    case "tool_confirmation_vote":
      return confirmationVoted(work, event);
    case "tool_confirmation_resolved":
      return confirmationResolved(work, event);
    case "question_asked":
      return questionAsked(work, event);
    case "question_answered":
      return questionAnswered(work, event);
    case "subagent_started":
    case "subagent_finished":
      return subagent(work, event);
    case "process_event":
      return changeCall(work, keyOf(work, event), (call) => ({
        stages: [
          ...call.stages,
          {
            stage: event.stage,
            status: event.status,
            message: event.message ?? null,
            at: event.ts,
          },
        ],
        progress: {
          stage: event.stage,
          message: event.message ?? null,
          percent: event.progress?.percent ?? null,
        },
      }));
    case "process_ended":
      return note(work, event, {
        type: "process_ended",
        at: event.ts,
        command: event.command,
        exitCode: event.exit_code,
        reason: event.reason,
      });
    case "ticket_opened":
      if (event.blocking) waits(work, event, true);
      return note(work, event, {
        type: "ticket_opened",
        at: event.ts,
        reason: event.reason,
        severity: event.severity,
      });
    case "ticket_resolved":
      waits(work, event, false);
      return note(work, event, {
        type: "ticket_resolved",
        at: event.ts,
        status: event.status,
        answer: event.answer ?? null,
      });
    default:
      // Events are only added inside v1; a client ignores what it does not know.
      return;
  }
}

type Of<T extends DurableEvent["type"]> = Extract<DurableEvent, { type: T }>;

function runStarted(work: Work, event: Of<"run_started">): void {
  const id = event.run_id ?? "";
  work.runs.set(id, {
    ...newRun(id, event.trigger, event.ts),
    parentId: event.parent_run_id ?? null,
    agentId: event.agent_id ?? null,
    model: event.model ?? null,
  });
  if (event.parent_run_id == null && event.parent_tool_call_id == null) {
    work.state.active = [...work.state.active, id];
  }
}

function newRun(id: string, trigger: string, startedAt: string): Run {
  return {
    id,
    trigger,
    parentId: null,
    agentId: null,
    model: null,
    startedAt,
    finishedAt: null,
    status: null,
    stopReason: null,
    error: null,
    ...used(undefined),
  };
}

/** What is written to a provider's cache has been read by the model like any other input. */
function used(usage: Usage | null | undefined) {
  return {
    inputTokens: (usage?.input_tokens ?? 0) + (usage?.cache_creation_tokens ?? 0),
    outputTokens: usage?.output_tokens ?? 0,
    cachedTokens: usage?.cache_read_tokens ?? 0,
    cost: usage?.cost ?? null,
  };
}

function runFinished(work: Work, event: Of<"run_finished">): void {
  const id = event.run_id ?? "";
  const run = work.runs.get(id);
  if (run !== undefined) {
    work.runs.set(id, {
      ...run,
      finishedAt: event.ts,
      status: event.status,
      stopReason: event.stop_reason ?? null,
      error: event.error ?? null,
      ...used(event.usage),
    });
  }
  const own = work.state.active.includes(id);
  work.state.active = work.state.active.filter((other) => other !== id);
  dropDrafts(work, id);
  if (own || event.parent_tool_call_id == null) place(work, event, { kind: "run_end", id });
}

function messageCompleted(work: Work, event: Of<"message_completed">): void {
  work.drafts.delete(event.message_id);
  if (event.client_message_id != null) {
    work.state.echoed = new Set(work.state.echoed).add(event.client_message_id);
  }
  const known = work.messages.has(event.message_id);
  if (!known) grow(work, event.message_id);
  work.messages.set(event.message_id, {
    id: event.message_id,
    runId: event.run_id ?? null,
    role: event.role,
    content: event.content as Record<string, unknown>[],
    at: event.ts,
  });
  // What the model reads of a call is on the call's card.
  if (!known && event.role !== "tool")
    place(work, event, { kind: "message", id: event.message_id });
}

/** A new entry hangs on the newest one. */
function grow(work: Work, id: string): void {
  work.parents.set(id, work.state.leaf);
  work.state.leaf = id;
}

function callStarted(work: Work, event: Of<"tool_call_started">): void {
  const asked = event.tool_call_id ?? "";
  const id = event.operation_id ?? asked;
  if (!work.calls.has(id)) work.attempts.set(asked, [...(work.attempts.get(asked) ?? []), id]);
  work.calls.set(id, {
    id,
    toolCallId: asked,
    runId: event.run_id ?? null,
    parentId: holderOf(work, event),
    name: event.tool_name,
    title: event.title,
    kind: event.kind,
    args: event.args,
    redacted: event.redacted ?? [],
    route: event.route ?? "main",
    startedAt: event.ts,
    deadline: event.deadline ?? null,
    status: event.awaits_confirmation ? "waiting" : "running",
    waitsFor: "approval",
    output: [],
    nextChunk: {},
    content: [],
    raw: null,
    truncated: false,
    artifactId: null,
    bytes: 0,
    error: null,
    durationMs: null,
    cached: false,
    duplicateOf: null,
    stages: [],
    progress: null,
    confirmationIds: [],
    inner: [],
    subagents: [],
  });
  for (const draft of work.drafts.values()) {
    if (draft.runId === event.run_id && draft.writing !== null) {
      work.drafts.set(draft.id, { ...draft, writing: null });
    }
  }
  place(work, event, { kind: "call", id });
}

function callCompleted(work: Work, event: Of<"tool_call_completed">): void {
  changeCall(work, keyOf(work, event), () => ({
    status: event.status,
    content: event.content as Record<string, unknown>[],
    raw: (event.raw_result as { type: string; data: unknown } | null) ?? null,
    truncated: event.truncated ?? false,
    artifactId: event.artifact_id ?? null,
    bytes: event.bytes ?? 0,
    error: event.error ?? null,
    durationMs: event.duration_ms ?? null,
    cached: event.cached ?? false,
    duplicateOf: event.duplicate_of ?? null,
    progress: null,
  }));
}

function confirmationAsked(work: Work, event: Of<"tool_confirmation_request">): void {
  work.confirmations.set(event.confirmation_id, openConfirmation(event));
  changeCall(work, keyOf(work, event), (call) => ({
    status: "waiting",
    confirmationIds: [...call.confirmationIds, event.confirmation_id],
  }));
}

function confirmationVoted(work: Work, event: Of<"tool_confirmation_vote">): void {
  const asked = work.confirmations.get(event.confirmation_id);
  if (asked === undefined) return;
  work.confirmations.set(event.confirmation_id, {
    ...asked,
    approvedBy: event.approved_by,
    behalf: behalfAfter(asked, event.by, event.on_behalf_of),
  });
}

function behalfAfter(
  asked: Confirmation,
  by: string | null | undefined,
  whose: string | null | undefined,
): Confirmation["behalf"] {
  return by == null || whose == null ? asked.behalf : { ...asked.behalf, [by]: whose };
}

function confirmationResolved(work: Work, event: Of<"tool_confirmation_resolved">): void {
  const asked = work.confirmations.get(event.confirmation_id);
  if (asked !== undefined) {
    work.confirmations.set(event.confirmation_id, {
      ...asked,
      outcome: event.outcome,
      optionId: event.option_id ?? null,
      by: event.by ?? null,
      message: event.message ?? null,
      editedArgs: event.edited_args ?? null,
      approvedBy: event.approved_by ?? asked.approvedBy,
      behalf: behalfAfter(asked, event.by, event.on_behalf_of),
    });
  }
  changeCall(work, keyOf(work, event), (call) =>
    call.status === "waiting"
      ? { status: "running", ...(event.edited_args == null ? {} : { args: event.edited_args }) }
      : {},
  );
}

/** Whether a call that goes on waits for a person. */
function waits(work: Work, event: DurableEvent, waiting: boolean): void {
  const [before, after] = waiting
    ? (["running", "waiting"] as const)
    : (["waiting", "running"] as const);
  changeCall(work, keyOf(work, event), (call) =>
    call.status === before ? { status: after, waitsFor: waiting ? "answer" : "approval" } : {},
  );
}

function questionAsked(work: Work, event: Of<"question_asked">): void {
  work.questions.set(event.question_id, {
    asked: event,
    outcome: "pending",
    answer: null,
    by: null,
  });
  waits(work, event, true);
}

function questionAnswered(work: Work, event: Of<"question_answered">): void {
  waits(work, event, false);
  const question = work.questions.get(event.question_id);
  if (question === undefined) return;
  work.questions.set(event.question_id, {
    ...question,
    outcome: event.outcome,
    answer: event.answer ?? null,
    by: event.by ?? null,
  });
}

function subagent(work: Work, event: Of<"subagent_started"> | Of<"subagent_finished">): void {
  const started = event.type === "subagent_started";
  delegatedRun(work, event);
  // What a process tells that was lost names the run alone.
  const holder = delegatorOf(work, event.child_run_id) ?? holderOf(work, event);
  changeCall(work, holder, (call) => {
    const known = call.subagents.find((one) => one.runId === event.child_run_id);
    const fresh: Subagent = started
      ? {
          runId: event.child_run_id,
          name: event.name,
          task: event.task,
          routes: (event.tool_runtime_routes ?? {}) as Record<string, string>,
          startedAt: event.ts,
          finishedAt: null,
          status: null,
          summary: null,
        }
      : {
          runId: event.child_run_id,
          name: known?.name ?? "",
          task: known?.task ?? "",
          routes: known?.routes ?? {},
          startedAt: known?.startedAt ?? event.ts,
          finishedAt: event.ts,
          status: event.status,
          summary: event.summary ?? null,
        };
    const others = call.subagents.filter((one) => one.runId !== event.child_run_id);
    const position = known === undefined ? others.length : call.subagents.indexOf(known);
    return { subagents: [...others.slice(0, position), fresh, ...others.slice(position)] };
  });
}

/** A sub-agent's run has no `run_finished`: what it used is told with its own end alone. */
function delegatedRun(work: Work, event: Of<"subagent_started"> | Of<"subagent_finished">): void {
  const id = event.child_run_id;
  const known = work.runs.get(id) ?? {
    ...newRun(id, "delegation", event.ts),
    parentId: event.run_id ?? null,
    model: event.type === "subagent_started" ? (event.model ?? null) : null,
  };
  const ended =
    event.type === "subagent_finished"
      ? {
          finishedAt: event.ts,
          status: event.status,
          error: event.error ?? null,
          ...used(event.usage),
        }
      : {};
  work.runs.set(id, { ...known, ...ended });
}

function note(work: Work, event: DurableEvent, value: Note): void {
  place(work, event, { kind: "note", id: `${event.type}-${event.seq}`, note: value });
}

/** Put an item where it happened: into the session, or into the call of a sub-agent. */
function place(work: Work, event: DurableEvent, item: Item): void {
  const parent = holderOf(work, event);
  if (parent !== null && parent !== item.id) {
    changeCall(work, parent, (call) =>
      call.inner.some((other) => other.kind === item.kind && other.id === item.id)
        ? {}
        : { inner: [...call.inner, item] },
    );
  } else work.items.push({ ...item, under: work.state.leaf });
}

function dropDrafts(work: Work, runId: string | null): void {
  for (const draft of work.drafts.values()) {
    if (draft.runId === runId) work.drafts.delete(draft.id);
  }
}
