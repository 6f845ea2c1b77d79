"""Hook contexts of a call."""

from __future__ import annotations

from typing import Any

import orjson

from app.execution.call import CallState
from app.execution.hooks.model import HookContext
from app.toolkit.result import ToolResult


def before_call(call: CallState) -> HookContext:
    """Return the input of a gate: a fresh copy of the arguments to run."""
    assert call.prepared is not None
    return _view(call, orjson.loads(call.prepared.canonical), None, None)


def after_call(call: CallState, result: ToolResult, reason: str | None = None) -> HookContext:
    """Return the input of hooks after a call, or after one that did not run for `reason`."""
    return _view(call, dict(call.prepared.raw) if call.prepared else {}, result, reason)


def _view(
    call: CallState, arguments: dict[str, Any], result: ToolResult | None, reason: str | None
) -> HookContext:
    context = call.context
    return HookContext(
        tool_name=call.tool_name,
        arguments=arguments,
        phase="PRE" if result is None else "POST",
        result=result,
        decision=call.decision,
        session_id=context.session_id,
        agent_id=context.agent_id,
        reason=reason,
        run_id=context.run_id,
        user_id=context.user_id,
        tool_call_id=call.request.id,
        operation_id=call.operation_id,
        cwd=context.project.root if context.project else None,
        caller=context.caller,
    )
