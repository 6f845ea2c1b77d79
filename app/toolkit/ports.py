"""Protocols of services that tools need; bound in the composition root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

ARTIFACTS = "artifacts"
LLM_CLIENT = "llm_client"
CODE_SERVERS = "code_servers"
CODE_OPERATIONS = "code_operations"
"""`CodeOperations` for calls without a project."""
CODE_RULES = "code_rules"
"""Rules for running code: the default level, and extra modules."""
SCREEN_CAPTURE = "screen_capture"
TOOL_FINDER = "tool_finder"
SEARCH_TOOLS = "search_tools"
NOT_HERE = "not_here"
"""Error code of a tool in a worker process that lacks what the call needs."""


@runtime_checkable
class Artifacts(Protocol):
    """The service `ARTIFACTS`: what calls of a session have left behind."""

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        """A whole artifact of one session.

        Raises:
            ToolFailed: that session has no such artifact, or it is larger than `max_bytes`.
        """

    async def keep(
        self, name: str, media_type: str, data: bytes, *, session_id: str, operation_id: str | None
    ) -> str:
        """Keep `data` for the session; returns the artifact's id.

        Raises:
            StorageUnavailable: the disk is full or the data directory cannot be written.
        """


@runtime_checkable
class LlmClient(Protocol):
    """The service `LLM_CLIENT`: the model, for tools; counted for the session that calls."""

    async def complete(
        self,
        prompt: str,
        ctx: ToolContext | None = None,
        *,
        system: str = "",
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> dict[str, Any]:
        """One question, without tools: `text`, `model`, `stop_reason` and both counts of tokens.

        Args:
            ctx: the call that asks; not needed inside a tool's function.
            model: another than the conversation's; a fallback may answer in its place.

        Raises:
            ToolFailed: it is not asked during a call, or the call has no session.
            BudgetExceeded: the session has used up what it may.
            ModelFailed: the provider failed.
            InvalidInput: an argument is out of range.
        """

    def ask(self, prompt: str, **options: Any) -> dict[str, Any]:
        """`complete` for a sync handler, which runs in a thread."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that a search found: the name to call it by, and its first sentence."""

    name: str
    summary: str


@runtime_checkable
class ToolFinder(Protocol):
    """The service `TOOL_FINDER`: tools that the caller may use."""

    def find(
        self,
        query: str,
        *,
        agent_id: str | None,
        run_id: str | None,
        limit: int,
        shown: bool = False,
    ) -> Sequence[FoundTool]:
        """The likeliest first. What is found is shown to the model for the rest of the run.

        Args:
            shown: look also among those that are shown already.
        """
