"""Built-in hooks: confirmation of dangerous operations, and logging."""

from __future__ import annotations

import logging

from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType

log = logging.getLogger("tollgate.calls")

CONFIRM_DANGEROUS = "confirm_dangerous_operations"
LOG_CALLS = "log_calls"


async def confirm_dangerous(context: HookContext) -> HookResult:
    """Ask if the risk analysis found something; denied calls never get here."""
    decision = context.decision
    if decision is None or not decision.findings:
        return HookResult(HookAction.CONTINUE)
    return HookResult(HookAction.ASK, decision.reason)


async def log_call(context: HookContext) -> HookResult:
    """Log one line per finished call, at debug level."""
    result = context.result
    facts = {
        "tool": context.tool_name,
        "session": context.session_id,
        "success": None if result is None else result.success,
        "code": None if result is None else result.code,
        "reason": context.reason,
    }
    log.debug("tool call", extra=facts)
    return HookResult(HookAction.CONTINUE)


def _logs_calls() -> bool:
    return log.isEnabledFor(logging.DEBUG)


def builtin_hooks(*, confirm: bool = True) -> list[HookConfig]:
    """Return the hooks that are enabled by default."""
    hooks = [
        HookConfig(LOG_CALLS, kind, log_call, builtin=True, active=_logs_calls)
        for kind in (HookType.POST_TOOL_USE, HookType.TOOL_ERROR, HookType.TOOL_SKIP)
    ]
    if confirm:
        gate = HookConfig(
            CONFIRM_DANGEROUS,
            HookType.PRE_TOOL_USE,
            confirm_dangerous,
            builtin=True,
            only_findings=True,
        )
        hooks.append(gate)
    return hooks
