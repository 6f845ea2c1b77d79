"""Everything the server may send, as one discriminated union."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, TypeAdapter

from app.events import control, durable, ephemeral, older

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
    control.Ready
    | control.Subscribed
    | control.Ack
    | control.ErrorMessage
    | control.Heartbeat
    | control.ServiceCondition
    | control.GoingAway
)
Older: TypeAlias = (
    older.OlderToolCall
    | older.OlderToolResult
    | older.OlderToolStart
    | older.OlderToolProgress
    | older.OlderToolComplete
    | older.OlderToolError
    | older.OlderBatchComplete
)
ServerMessage: TypeAlias = Annotated[
    Durable | Ephemeral | Control | Older, Field(discriminator="type")
]

server_message: TypeAdapter[ServerMessage] = TypeAdapter(ServerMessage)
