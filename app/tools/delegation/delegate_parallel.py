"""`delegate_parallel`: several tasks, each for a separate sub-agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import Field

from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.reports import all_answers, begun
from app.tools.delegation.returns import DELEGATE_PARALLEL_RESULT
from app.tools.delegation.services import delegation_of
from app.tools.delegation.tasks import LONGEST_S, TaskArguments, labels_of, spec_of

MAX_TASKS = 50

_NAMES = {"name": "label", "instruction": "goal"}


class DelegateParallelArgs(ToolArgs):
    tasks: list[TaskArguments] = Field(
        min_length=1, max_length=MAX_TASKS, description="The tasks, one for each sub-agent."
    )
    concurrency: int | None = Field(
        default=None, ge=1, description="Maximum concurrent sub-agents."
    )
    brief: bool = Field(
        default=False, description="Few rounds each, and a final answer without tools."
    )
    background: bool = Field(
        default=False,
        description="Return their IDs immediately instead of waiting for the answers.",
    )


def as_multi_agent(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{tasks: [{name, instruction, tools?}]}`, where empty `tools` means all."""
    tasks = raw.get("tasks")
    if not isinstance(tasks, list):
        return {**raw, "brief": True}
    return {**raw, "brief": True, "tasks": [_task(item) for item in tasks]}


def multi_agent_shape(result: ToolResult) -> ToolResult:
    """Return `{success, results: [{task_name, success, response | error}], total}`."""
    tasks = result.data.get("tasks") if isinstance(result.data, dict) else None
    if not isinstance(tasks, list):
        return result
    results = [_outcome(task) for task in tasks]
    fields = {"success": result.success, "results": results, "total": len(results)}
    return replace(result, data=fields)


def _task(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    fields = {_NAMES.get(name, name): value for name, value in item.items()}
    if not fields.get("tools", True):
        del fields["tools"]
    return fields


def _outcome(task: dict[str, Any]) -> dict[str, Any]:
    if task["status"] == "success":
        return {"task_name": task["label"], "success": True, "response": task["response"]}
    error = task["error"] or {}
    message = str(error.get("message") or task["status"])
    return {"task_name": task["label"], "success": False, "error": message}


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
    argument_aliases={"max_concurrency": "concurrency"},
    aliases=(
        Alias(
            "multi_agent",
            adapt=as_multi_agent,
            reshape=multi_agent_shape,
            families=("nanoclaw",),
        ),
    ),
    return_schema=DELEGATE_PARALLEL_RESULT,
)
async def delegate_parallel(args: DelegateParallelArgs, ctx: ToolContext) -> ToolResult:
    """Run several sub-agents concurrently and wait for all of them.

    Use it for independent tasks, each as in delegate_task. A failed task does not stop the others.
    Returns the answers in the order of the tasks.
    """
    labels = labels_of(args.tasks)
    batch = await delegation_of(ctx).start(
        [
            spec_of(task, label, last_round_without_tools=args.brief)
            for task, label in zip(args.tasks, labels, strict=True)
        ],
        ctx,
        kind="multi_agent" if args.brief else "parallel",
        concurrency=args.concurrency,
        background=args.background,
    )
    return begun(batch) if batch.status == "running" else all_answers(batch)
