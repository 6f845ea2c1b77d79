"""A tool's result and its three faces.

`text` is for the model, `data` is structured, `raw_result` is for renderers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.core.text import dump_json

RawKind = Literal["text", "json", "table", "diff", "image", "terminal"]


@dataclass(frozen=True, slots=True)
class RawResult:
    """Structured output for a client: `type` selects the renderer, `data` is its input."""

    type: RawKind
    data: Any

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "data": self.data}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Outcome of one tool call. Build it with `ok` or `fail`.

    Attributes:
        success: whether the tool did what it was asked.
        data: structured result, JSON-serializable; kept on failure where it helps.
        error: one sentence for the caller when `success` is false.
        code: machine code of the error.
        text: what the model reads; derived from `data` or `error` when not given.
        raw_result: what a renderer draws.
    """

    success: bool
    data: Any = None
    error: str | None = None
    code: str | None = None
    text: str | None = None
    raw_result: RawResult | None = None

    @classmethod
    def ok(
        cls, data: Any = None, *, text: str | None = None, raw_result: RawResult | None = None
    ) -> ToolResult:
        return cls(True, data, None, None, text, raw_result)

    @classmethod
    def fail(
        cls,
        error: str,
        *,
        code: str = "tool_failed",
        data: Any = None,
        text: str | None = None,
        raw_result: RawResult | None = None,
    ) -> ToolResult:
        return cls(False, data, error, code, text, raw_result)

    def to_dict(self) -> dict[str, Any]:
        """The seeds' three keys."""
        return {"success": self.success, "data": self.data, "error": self.error}

    def to_json(self) -> str:
        """Return `to_dict` as JSON text without escaping non-ASCII characters."""
        return dump_json(self.to_dict()).decode()

    def for_model(self) -> str:
        """The text the model reads."""
        if self.text is not None:
            return self.text
        if not self.success:
            return self.error or "failed"
        if isinstance(self.data, str):
            return self.data
        return dump_json(self.data).decode()


def as_result(value: Any) -> ToolResult:
    """Wrap whatever a tool returned.

    A dict with a `success` of false becomes a failure, so that an inner failure is
    never reported (or cached) as an outer success.
    """
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, dict) and value.get("success") is False:
        error = value.get("error")
        return ToolResult.fail(str(error) if error else "the tool reported a failure", data=value)
    if isinstance(value, str):
        return ToolResult.ok(value, text=value)
    return ToolResult.ok(value)
