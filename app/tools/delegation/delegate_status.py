"""`delegate_status`: progress of sub-agents."""

from __future__ import annotations

from pydantic import Field, model_validator

from app.core.errors import NotFound
from app.core.field_problems import FieldError
from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.reports import batch_data, batch_line, progress
from app.tools.delegation.returns import DELEGATE_STATUS_RESULT
from app.tools.delegation.services import delegation_of, session_of

MAX_WAIT_S = 600.0
_AROUND_S = 30.0
_LISTED = 20


class DelegateStatusArgs(ToolArgs):
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="ID of a task or batch; if omitted, all of this chat, newest first.",
    )
    wait_s: float = Field(
        default=0, ge=0, le=MAX_WAIT_S, description="Seconds to wait for its end, with id."
    )

    @model_validator(mode="after")
    def _waits_for_something(self) -> DelegateStatusArgs:
        if self.wait_s and self.id is None:
            raise FieldError(
                "wait_s: requires the id to wait for",
                code="needs",
                given="wait_s",
                needed="id",
            )
        return self


@tool(
    category="agent",
    toolset="delegation",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NONE,
    kind="read",
    requires=(DELEGATION,),
    # Only useful for agents that start sub-agents.
    delegates=True,
    routing_hint="main-process-proxy",
    timeout_s=MAX_WAIT_S + _AROUND_S,
    tags=("agents",),
    argument_aliases={"task_id": "id", "batch_id": "id"},
    return_schema=DELEGATE_STATUS_RESULT,
)
async def delegate_status(args: DelegateStatusArgs, ctx: ToolContext) -> ToolResult:
    """Get the progress and answers of this chat's sub-agents.

    Use it for background tasks. Returns status, rounds, calls, and the full or partial answer. With
    wait_s it waits for the end; prefer one wait over polling.
    """
    session_id, delegation = session_of(ctx), delegation_of(ctx)
    # A sub-agent may have fewer rights than its siblings, so it sees only tasks that it started.
    run_id = ctx.run_id if ctx.subagent_id is not None else None
    if args.id is not None:
        found = await delegation.report(args.id, session_id=session_id)
        if run_id not in (None, found.parent_run_id):
            raise NotFound(f"Delegated task {args.id!r} not found in this session", id=args.id)
        if args.wait_s:
            found = await delegation.wait(args.id, session_id=session_id, timeout_s=args.wait_s)
        return progress(found)
    listed = await delegation.reports(session_id=session_id, run_id=run_id, limit=_LISTED)
    data = {"delegations": [batch_data(batch) for batch in listed]}
    text = "\n".join(map(batch_line, listed)) or "No tasks were delegated in this chat"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))
