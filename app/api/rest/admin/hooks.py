"""Hooks with their origin and statistics, and plugins with missing hooks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.text import clean
from app.execution.hooks.chain import Hooks
from app.execution.hooks.model import HookConfig

router = routes_of("admin", below="/admin")

_HOOK: dict[str, Any] = {
    "name": "protect_paths",
    "event": "pre_tool_use",
    "origin": "configuration",
    "matcher": "write_file|edit_file",
    "tools": ["edit_file", "write_file"],
    "order": 0,
    "timeout_s": 10,
    "on_error": "deny",
    "is_active": True,
    "calls": 12,
    "asks": 0,
    "denies": 3,
    "changes": 0,
    "failures": 1,
    "p50_ms": 21.4,
    "p99_ms": 48.0,
    "last_error": "Hook 'protect_paths' did not respond within 10 s",
    "last_error_code": "hook_timeout",
    "last_failed_at": MOMENT,
}
_MISSING = {
    "name": "guard",
    "where": "plugin folder",
    "error": "SyntaxError: '[' was never closed",
    "code": "plugin_syntax",
    "is_shut": True,
}


class HookView(BaseModel):
    """A hook with its statistics since the service started."""

    model_config = example(**_HOOK)

    name: str
    event: Literal["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"]
    origin: str = Field(description="`built-in`, `code`, `configuration`, `tool` or a plugin.")
    matcher: str | None = Field(description="The filter as configured; null without a filter.")
    tools: list[str] = Field(description="Tools of the catalog that trigger it.")
    order: int
    timeout_s: float
    on_error: Literal["deny", "ask", "allow"]
    is_active: bool = Field(description="False if it currently has nothing to do.")
    calls: int
    asks: int
    denies: int
    changes: int
    failures: int = Field(description="Number of calls without a usable response.")
    p50_ms: float | None = Field(description="Over its last 512 calls; null before the first call.")
    p99_ms: float | None
    last_error: str | None
    last_error_code: str | None = Field(description="Stable code for `last_error`.")
    last_failed_at: str | None


class MissingHooks(BaseModel):
    """A plugin whose hooks are missing; `is_shut` if all calls are denied until they load."""

    model_config = example(**_MISSING)

    name: str
    where: str
    error: str
    code: str = Field(description="Stable code for `error`.")
    is_shut: bool


class HookList(BaseModel):
    """All hooks, by event and in execution order, and plugins whose hooks are missing."""

    model_config = example(hooks=[_HOOK], missing=[_MISSING])

    hooks: list[HookView]
    missing: list[MissingHooks]


@router.get("/hooks", summary="List hooks", responses=problems())
async def list_hooks(service: ServiceDep, principal: Admin) -> HookList:
    """Scope `admin`. Check hooks that match no tool or fail."""
    shown = [_view(service, hook) for hook in service.hooks.in_order()]
    return HookList(hooks=shown, missing=_missing(service.hooks))


def _view(service: Service, hook: HookConfig) -> HookView:
    stats = service.hooks.stats(hook)
    failure = stats.last_failure
    names = [name for name in service.registry.snapshot().tools if hook.concerns(name)]
    filtered = ", ".join(sorted(hook.filter_names)) if hook.filter_names is not None else None
    return HookView(
        name=clean(hook.name),
        event=hook.hook_type.value,
        origin="built-in" if hook.builtin else hook.origin,
        matcher=hook.matcher or filtered,
        tools=names,
        order=hook.order,
        timeout_s=hook.timeout_s,
        on_error=hook.on_error,
        is_active=hook.active(),
        calls=stats.calls,
        asks=stats.asks,
        denies=stats.denies,
        changes=stats.changes,
        failures=stats.failures,
        p50_ms=stats.percentile_ms(0.50),
        p99_ms=stats.percentile_ms(0.99),
        last_error=failure and failure.message,
        last_error_code=failure and failure.code,
        last_failed_at=stats.last_failed_at,
    )


def _missing(hooks: Hooks) -> list[MissingHooks]:
    return [MissingHooks(**asdict(item)) for item in hooks.problems]
