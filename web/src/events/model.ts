/** What a session looks like to a person: made of its events, and of nothing else. */
import type {
  CallStatus,
  ConfirmationRequest,
  ContentBlock,
  ErrorBody,
  QuestionAsked,
  Route,
} from "./messages";

/** A call as it is shown. */
export interface Call {
  /** Of this attempt; what the caller named it may come again. */
  id: string;
  toolCallId: string;
  runId: string | null;
  parentId: string | null;
  name: string;
  title: string;
  kind: string;
  args: unknown;
  redacted: readonly string[];
  route: Route;
  startedAt: string;
  deadline: string | null;
  /** `waiting` for a person's answer, `running`, or how it ended. */
  status: "waiting" | "running" | CallStatus;
  /** What a `waiting` call waits for. */
  waitsFor: "approval" | "answer";
  output: readonly OutputPiece[];
  /** What live output is expected next, by stream. */
  nextChunk: Readonly<Record<string, number>>;
  content: readonly ContentBlock[];
  raw: { type: string; data: unknown } | null;
  truncated: boolean;
  artifactId: string | null;
  bytes: number;
  error: ErrorBody | null;
  durationMs: number | null;
  cached: boolean;
  duplicateOf: string | null;
  stages: readonly Stage[];
  progress: Progress | null;
  confirmationIds: readonly string[];
  /** Things that happened inside: calls of sub-agents, their messages. */
  inner: readonly Item[];
  subagents: readonly Subagent[];
}

export interface OutputPiece {
  stream: "stdout" | "stderr" | "content";
  text: string;
  /** Some output before this piece did not arrive. */
  gap: boolean;
}

export interface Stage {
  stage: string;
  status: string;
  message: string | null;
  at: string;
}

export interface Progress {
  stage: string;
  message: string | null;
  percent: number | null;
}

export interface Subagent {
  runId: string;
  name: string;
  task: string;
  routes: Readonly<Record<string, string>>;
  startedAt: string;
  finishedAt: string | null;
  status: string | null;
  summary: string | null;
}

export interface Message {
  id: string;
  runId: string | null;
  role: "user" | "assistant" | "tool";
  content: readonly ContentBlock[];
  at: string;
}

/** A message that is being written. */
export interface Draft {
  id: string;
  runId: string | null;
  text: string;
  thinking: string;
  /** The call whose arguments are being written, and how much of them. */
  writing: { tool: string; json: string } | null;
  nextChunk: Readonly<Record<string, number>>;
}

export interface Run {
  id: string;
  trigger: string;
  parentId: string | null;
  agentId: string | null;
  model: string | null;
  startedAt: string;
  finishedAt: string | null;
  status: string | null;
  stopReason: string | null;
  error: ErrorBody | null;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  /** Dollars; null where a model of the run has no price. */
  cost: number | null;
}

export interface Confirmation {
  request: ConfirmationRequest;
  outcome: "pending" | "approved" | "declined" | "expired" | "cancelled";
  optionId: string | null;
  by: string | null;
  message: string | null;
  editedArgs: unknown;
  /** Who has approved, where several people must, in order. */
  approvedBy: readonly string[];
  /** For whom substitutes have answered, by the substitute. */
  behalf: Readonly<Record<string, string>>;
}

/** A confirmation that waits for its answers. */
export const openConfirmation = (request: ConfirmationRequest): Confirmation => ({
  request,
  outcome: "pending",
  optionId: null,
  by: null,
  message: null,
  editedArgs: null,
  approvedBy: request.approval?.approved_by ?? [],
  behalf: {},
});

export interface Question {
  asked: QuestionAsked;
  outcome: "pending" | "answered" | "declined" | "expired" | "cancelled";
  answer: unknown;
  by: string | null;
}

/** One entry of the timeline; `id` names it in the map of its kind. */
export type Item =
  | { kind: "message"; id: string }
  | { kind: "call"; id: string }
  | { kind: "run_end"; id: string }
  | { kind: "note"; id: string; note: Note };

/** An entry of the session itself, and the message that was its newest then. */
export type Placed = Item & { under: string | null };

export type Note =
  | { type: "compacted"; at: string }
  | { type: "resumed"; at: string }
  | { type: "ticket_opened"; at: string; reason: string; severity: string }
  | { type: "ticket_resolved"; at: string; status: string; answer: string | null }
  | { type: "process_ended"; at: string; command: string; exitCode: number; reason: string };

export interface SessionState {
  epoch: string | null;
  seq: number;
  items: readonly Placed[];
  /** The message that the next one answers. */
  leaf: string | null;
  /** What each entry of the tree hangs on, oldest first; summaries and results are entries too. */
  parents: ReadonlyMap<string, string | null>;
  /** Whether the tree is more than a line. */
  branched: boolean;
  messages: ReadonlyMap<string, Message>;
  drafts: ReadonlyMap<string, Draft>;
  calls: ReadonlyMap<string, Call>;
  /** The attempts of each `tool_call_id`, oldest first. */
  attempts: ReadonlyMap<string, readonly string[]>;
  runs: ReadonlyMap<string, Run>;
  confirmations: ReadonlyMap<string, Confirmation>;
  questions: ReadonlyMap<string, Question>;
  /** Runs of the session itself that have not finished, oldest first. */
  active: readonly string[];
  /** Ids of `user_message` commands that have come back as messages. */
  echoed: ReadonlySet<string>;
}

export const EMPTY: SessionState = {
  epoch: null,
  seq: 0,
  items: [],
  leaf: null,
  parents: new Map(),
  branched: false,
  messages: new Map(),
  drafts: new Map(),
  calls: new Map(),
  attempts: new Map(),
  runs: new Map(),
  confirmations: new Map(),
  questions: new Map(),
  active: [],
  echoed: new Set(),
};
