/** The messages of `tollgate.v1`, named as the service names them. */
import type { Schemas } from "../api/client";

export type DurableEvent =
  | Schemas["WsRunStarted"]
  | Schemas["WsRunResumed"]
  | Schemas["WsRunFinished"]
  | Schemas["WsContextCompacted"]
  | Schemas["WsSessionBranched"]
  | Schemas["WsMessageCompleted"]
  | Schemas["WsToolCallStarted"]
  | Schemas["WsToolCallCompleted"]
  | Schemas["WsToolConfirmationRequest"]
  | Schemas["WsToolConfirmationVote"]
  | Schemas["WsToolConfirmationResolved"]
  | Schemas["WsQuestionAsked"]
  | Schemas["WsQuestionAnswered"]
  | Schemas["WsTicketOpened"]
  | Schemas["WsTicketResolved"]
  | Schemas["WsProcessEvent"]
  | Schemas["WsProcessEnded"]
  | Schemas["WsSubagentStarted"]
  | Schemas["WsSubagentFinished"];

export type EphemeralEvent =
  | Schemas["WsTextDelta"]
  | Schemas["WsThinkingDelta"]
  | Schemas["WsToolInputDelta"]
  | Schemas["WsToolResultStreamed"]
  | Schemas["WsProcessProgress"];

export type SessionEvent = DurableEvent | EphemeralEvent;

/** Pending requests of all sessions. */
export type InboxMessage = Schemas["WsInboxReady"] | Schemas["WsInboxChanged"];
export type InboxEntry = Schemas["WsInboxEntry"];

export type ControlMessage =
  | Schemas["WsReady"]
  | Schemas["WsSubscribed"]
  | Schemas["WsAck"]
  | Schemas["WsErrorMessage"]
  | Schemas["WsHeartbeat"]
  | Schemas["WsGoingAway"]
  | InboxMessage;

export type ServerMessage = ControlMessage | SessionEvent;
export type Subscribed = Schemas["WsSubscribed"];
export type ConfirmationRequest = Schemas["WsToolConfirmationRequest"];
/** What an approval policy requires of the answer to a confirmation. */
export type ApprovalTerms = Schemas["WsShownTerms"];
export type QuestionAsked = Schemas["WsQuestionAsked"];
export type CallStatus = Schemas["WsToolCallCompleted"]["status"];
export type Route = NonNullable<Schemas["WsToolCallStarted"]["route"]>;
export type Usage = Schemas["WsUsage"];
export type ErrorBody = Schemas["WsErrorBody"];
export type ContentBlock = Record<string, unknown>;

export const isDurable = (message: SessionEvent): message is DurableEvent => "seq" in message;
