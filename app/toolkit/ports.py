"""What tools need from rooms above them, as Protocols; the composition root binds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

ARTIFACTS = "artifacts"
TOOL_FINDER = "tool_finder"
SEARCH_TOOLS = "search_tools"


@runtime_checkable
class Artifacts(Protocol):
    """The service `ARTIFACTS`: what calls of a session have left behind."""

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        """A whole artifact of one session.

        Raises:
            ToolFailed: that session has no such artifact, or it is larger than `max_bytes`.
        """


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that a search found: the name to call it by, and its first sentence."""

    name: str
    summary: str


@runtime_checkable
class ToolFinder(Protocol):
    """The service `TOOL_FINDER`: tools that the caller may use and is not shown yet."""

    def find(
        self, query: str, *, agent_id: str | None, run_id: str | None, limit: int
    ) -> Sequence[FoundTool]:
        """The likeliest first. What is found is shown to the model for the rest of the run."""
