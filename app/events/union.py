"""All messages of the server, as one discriminated union."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, TypeAdapter

from app.events import control, durable, ephemeral, legacy

Durable: TypeAlias = (
    durable.RunStarted
    | durable.RunResumed
    | durable.RunFinished
    | durable.MessageCompleted
    | durable.ContextCompacted
    | durable.SessionBranched
    | durable.ToolCallStarted
    | durable.ToolCallCompleted
    | durable.ToolConfirmationRequest
    | durable.ToolConfirmationVote
    | durable.ToolConfirmationResolved
    | durable.QuestionAsked
    | durable.QuestionAnswered
    | durable.TicketOpened
    | durable.TicketResolved
    | durable.ProcessEvent
    | durable.ProcessEnded
    | durable.SubagentStarted
    | durable.SubagentFinished
)
Ephemeral: TypeAlias = (
    ephemeral.TextDelta
    | ephemeral.ThinkingDelta
    | ephemeral.ToolInputDelta
    | ephemeral.ToolResultStreamed
    | ephemeral.ProcessProgress
)
Control: TypeAlias = (
    control.ConnectionReady
    | control.Subscribed
    | control.Ack
    | control.ErrorMessage
    | control.Heartbeat
    | control.ServiceCondition
    | control.InboxReady
    | control.InboxChanged
    | control.GoingAway
)
Older: TypeAlias = (
    legacy.OlderToolCall
    | legacy.OlderToolResult
    | legacy.OlderToolStart
    | legacy.OlderToolProgress
    | legacy.OlderToolComplete
    | legacy.OlderToolError
    | legacy.OlderBatchComplete
)
ServerMessage: TypeAlias = Annotated[
    Durable | Ephemeral | Control | Older, Field(discriminator="type")
]

server_message: TypeAdapter[ServerMessage] = TypeAdapter(ServerMessage)
