"""Sub-agent as a caller: its identity, its tools, and the process of its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.execution.streamed_output import StreamedOutput
from app.governance.agents import SubagentScope
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult


class OwnProcess(Protocol):
    """Process of a sub-agent. It runs only what the executor has admitted."""

    @property
    def tools(self) -> frozenset[str]:
        """Return the tools that the process can run; all are read-only."""

    async def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: ToolContext,
        live: StreamedOutput | None,
    ) -> ToolResult:
        """Run a tool's function in the process. Cancellation stops it there too.

        Raises:
            InvalidArguments: the tool refused them.
            ToolFailed: code `worker_lost` if the process has ended.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """Caller, if it is a sub-agent.

    Attributes:
        label: name for people.
        parent_tool_call_id: call that delegated to it.
        counted_run: run of the original delegating agent, so that delegation does not raise the
            limit of calls per run. None if there is none.
        depth: 1 for a sub-agent of an agent, 2 for a sub-agent's own, …
        process: process in which tools with the route `worker-local` run.
    """

    task_id: str
    label: str
    parent_tool_call_id: str
    scope: SubagentScope
    depth: int
    counted_run: str | None = None
    process: OwnProcess

    def to_details(self) -> dict[str, Any]:
        """Return the form shown with a confirmation."""
        return {"subagent": self.label, "task_id": self.task_id}
