"""A sub-agent as the executor knows it: who it is, what it may use, where its calls run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.execution.streamed_output import StreamedOutput
from app.governance.agents import SubagentScope
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult


class OwnProcess(Protocol):
    """The process of a sub-agent. It executes what the executor has let through, no more."""

    @property
    def tools(self) -> frozenset[str]:
        """The tools whose functions it has; all of them only read."""

    async def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: ToolContext,
        live: StreamedOutput | None,
    ) -> ToolResult:
        """Run a tool's function there. Being cancelled stops it there too.

        Raises:
            InvalidArguments: the tool itself refused them.
            ToolFailed: code `worker_lost` when the process has ended.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """Who calls, where that is a sub-agent.

    Attributes:
        label: what it is called, for people.
        parent_tool_call_id: the call that has delegated to it.
        counted_run: the run of the agent that has delegated in the end: what one run may call
            is not more because others call for it. None where that is no run.
        depth: 1 for a sub-agent of an agent, 2 for one of its own, …
        process: where tools with the route `worker-local` run.
    """

    task_id: str
    label: str
    parent_tool_call_id: str
    scope: SubagentScope
    depth: int
    counted_run: str | None = None
    process: OwnProcess

    def told(self) -> dict[str, Any]:
        """As people see it beside a question."""
        return {"subagent": self.label, "task_id": self.task_id}
