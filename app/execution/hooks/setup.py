"""All hooks of the installation: built-in, tools', plugins' and configured."""

from __future__ import annotations

from collections.abc import Mapping

from app.catalog.registry import ToolRegistry
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.metrics import Metrics
from app.execution.hooks.builtin import builtin_hooks
from app.execution.hooks.chain import Hooks, OnFailure
from app.execution.hooks.command import command_hooks
from app.execution.hooks.model import HookConfig, HookContext, HookFailure
from app.execution.hooks.plugins import load_hook_plugins
from app.governance.audit.log import AuditEntry, AuditLog
from app.operations.protocols.workspaces import Workspaces


def assemble_hooks(
    settings: Settings,
    registry: ToolRegistry,
    workspaces: Workspaces,
    clock: Clock,
    *,
    audit: AuditLog,
    metrics: Metrics,
) -> Hooks:
    """Create all hooks. Imports plugins, and creates the working directory of command hooks.

    Raises:
        ConfigurationError: the folder cannot be created or opened.
    """
    hooks = Hooks(clock)
    hooks.on_failure = failure_recorder(audit, metrics)
    for hook in builtin_hooks(confirm=settings.confirm_dangerous):
        hooks.register(hook)
    load_hook_plugins(hooks, registry.snapshot(), shut=settings.broken_hook_plugins == "deny")
    if settings.hooks:
        folder = settings.hooks_dir
        folder.mkdir(parents=True, exist_ok=True)
        processes = workspaces.open_for_operator(folder).processes

        def names_of(tool_name: str) -> list[str]:
            tool = registry.snapshot().tools.get(tool_name)
            return [alias.name for alias in tool.aliases] if tool else []

        for hook in command_hooks(settings.hooks, processes, names_of):
            hooks.register(hook)

    def adopt() -> None:
        hooks.replace_tool_hooks(registry.snapshot().hooks)

    adopt()
    registry.on_change(lambda *_: adopt())
    return hooks


def failure_recorder(audit: AuditLog, metrics: Metrics) -> OnFailure:
    """Return a callback that reports broken hooks to the audit and the metrics."""

    def record(hook: HookConfig, context: HookContext, failure: HookFailure, outcome: str) -> None:
        metrics.count("hook_failures", hook.name)
        detail: Mapping[str, object] = {
            "hook": hook.name,
            "type": hook.hook_type.value,
            "origin": hook.origin,
            "error": failure.message,
            "code": failure.code,
        }
        audit.record(
            AuditEntry(
                "hook.failed",
                actor="system",
                subject=hook.name,
                session_id=context.session_id,
                run_id=context.run_id,
                agent_id=context.agent_id,
                tool_name=context.tool_name,
                operation_id=context.operation_id,
                outcome=outcome,
                detail=detail,
            )
        )

    return record
