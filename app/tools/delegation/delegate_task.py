"""`delegate_task`: delegates one task to a sub-agent."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, tool
from app.tools.delegation.reports import begun, one_answer
from app.tools.delegation.returns import DELEGATE_TASK_RESULT
from app.tools.delegation.services import delegation_of
from app.tools.delegation.tasks import LONGEST_S, TaskArguments, labels_of, spec_of


class DelegateTaskArgs(TaskArguments):
    background: bool = Field(
        default=False, description="Return its ID immediately instead of waiting for the answer."
    )


def _as_spawn(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{task, label?}`, which runs in the background by default."""
    return {"background": True, **raw}


@tool(
    category="agent",
    toolset="delegation",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="other",
    requires=(DELEGATION,),
    delegates=True,
    routing_hint="main-process-proxy",
    timeout_s=LONGEST_S,
    tags=("agents",),
    argument_aliases={
        "task": "goal",
        "prompt": "goal",
        "instruction": "goal",
        "readonly": "read_only",
        "max_iterations": "max_rounds",
        "timeout_seconds": "timeout_s",
        "agent_id": "agent",
    },
    aliases=(
        Alias("spawn", adapt=_as_spawn, families=("countbot",)),
        Alias("SpawnTool", _as_spawn),
    ),
    return_schema=DELEGATE_TASK_RESULT,
)
async def delegate_task(args: DelegateTaskArgs, ctx: ToolContext) -> ToolResult:
    """Delegate a task to a sub-agent and wait for its answer.

    Use it for multi-step work of which only the result matters. The sub-agent sees the workspace
    but not this chat: include all it needs. It cannot ask the user. Returns its answer, or with
    background its ID for delegate_status.
    """
    (label,) = labels_of([args])
    batch = await delegation_of(ctx).start(
        [spec_of(args, label)], ctx, kind="task", name=label, background=args.background
    )
    return begun(batch) if batch.status == "running" else one_answer(batch)
