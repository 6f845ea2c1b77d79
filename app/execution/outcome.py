"""Outcome of one call, in the formats of its callers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.core.text import dump_json
from app.events.durable import CallStatus
from app.execution.calls import CallRequest
from app.toolkit.result import ToolResult


@dataclass(slots=True, kw_only=True)
class CallOutcome:
    """Outcome of one call.

    Attributes:
        tool_name: canonical name, or the caller's spelling if there is no such tool.
        text: text for the model: truncated, with warnings appended.
        execution_time: seconds of running; 0 if the tool did not run.
        duplicate_of: ID of the equal call in the same batch that gave the result.
        artifact_id: artifact of the complete output if `text` is truncated.
    """

    request: CallRequest
    operation_id: str
    tool_name: str
    status: CallStatus
    result: ToolResult
    text: str
    execution_time: float = 0.0
    cached: bool = False
    duplicate_of: str | None = None
    artifact_id: str | None = None
    truncated: bool = False

    @property
    def success(self) -> bool:
        return self.result.success

    @property
    def skipped(self) -> bool:
        return self.status == "skipped"

    def noted(self, note: str) -> CallOutcome:
        """Return the outcome with an additional `note` for the model of an interrupted call."""
        if self.status not in ("cancelled", "interrupted") or not note:
            return self
        return replace(self, text=f"{self.text}\n{note}".strip())

    def record(self) -> dict[str, Any]:
        """Return the unified record: the same in history and on the wire."""
        arguments = self.request.arguments
        if not isinstance(arguments, str):
            arguments = dump_json(arguments).decode()
        record: dict[str, Any] = {
            "id": self.request.id,
            "type": "function",
            "function": {"name": self.request.name, "arguments": arguments},
            "result": self.result.to_json(),
            "success": self.success,
            "skipped": self.skipped,
            "execution_time": self.execution_time,
            "status": self.status,
            "cached": self.cached,
            "operation_id": self.operation_id,
        }
        if self.duplicate_of:
            record["duplicate_of"] = self.duplicate_of
        if self.artifact_id:
            record["artifact_id"] = self.artifact_id
        return record

    def tool_message(self) -> dict[str, Any]:
        """Return OpenAI's `role: tool` message; `content` is JSON text without escapes."""
        content = self.result.to_dict()
        if self.status == "skipped":
            content |= {"skipped": True, "duplicate_of": self.duplicate_of}
        if self.cached:
            content["cached"] = True
        if self.result.code:
            content["code"] = self.result.code
        return {
            "role": "tool",
            "tool_call_id": self.request.id,
            "name": self.request.name,
            "content": ToolResult.to_json(self.result)
            if len(content) == 3
            else orjson.dumps(content, default=str).decode(),
        }

    def tool_result_block(self) -> dict[str, Any]:
        """Return Anthropic's `tool_result` block."""
        return {
            "type": "tool_result",
            "tool_use_id": self.request.id,
            "content": [{"type": "text", "text": self.text or "(no output)"}],
            "is_error": not self.success,
        }


@dataclass(slots=True)
class CallEnd:
    """An outcome, and what the record of the end says beside it.

    Attributes:
        unrun: why the call did not run, for hooks; None for one that ran or was stopped.
        chunks: pieces of live output.
        size: bytes of output; 0 for those of the outcome's text.
        data: the result's data as JSON, where it succeeded and is encoded already.
    """

    outcome: CallOutcome
    unrun: str | None = None
    chunks: int = 0
    size: int = 0
    data: bytes | None = None
