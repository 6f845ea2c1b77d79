"""Validation of hook declarations; an invalid gate would give no protection."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from app.core.errors import ConfigurationError
from app.execution.hooks.model import HookConfig, HookType, OnError

_DAY_S = 86_400
_ON_ERROR = get_args(OnError)


def check_hooks(brought: Iterable[Any]) -> list[HookConfig]:
    """Return the hooks of a plugin if all are valid.

    Raises:
        ConfigurationError: a hook is invalid; the message names its fields, `fix` the correction.
    """
    listed = list(brought)
    if not listed:
        raise ConfigurationError("HOOKS is empty", fix="List a HookConfig, or remove HOOKS")
    for hook in listed:
        if not isinstance(hook, HookConfig):
            raise ConfigurationError(
                f"HOOKS contains a {type(hook).__name__}, not a HookConfig",
                fix='Write HookConfig("name", HookType.PRE_TOOL_USE, handler)',
            )
        faults = list(_faults(hook))
        if faults:
            raise ConfigurationError(
                f"hook {hook.name!r}: " + "; ".join(message for message, _ in faults),
                fix="; ".join(fix for _, fix in faults),
                **_place(hook),
            )
    return listed


def _faults(hook: Any) -> Iterator[tuple[str, str]]:
    """Each fault and its fix."""
    if not isinstance(hook.name, str) or not hook.name.strip() or not hook.name.isprintable():
        yield "name must be printable text", "Set a printable name"
    if not isinstance(hook.hook_type, HookType):
        yield "it has no valid hook_type", "Write HookType.PRE_TOOL_USE or another HookType"
    if not callable(hook.handler):
        yield "it has no valid handler", "Pass an async function that takes a HookContext"
    elif not _is_async(hook.handler):
        yield "its handler is not async", "Write `async def`"
    elif not _takes_one(hook.handler):
        yield "its handler cannot be called with one HookContext", "Take one parameter"
    yield from _filters(hook)
    yield from _rank(hook)


def _rank(hook: Any) -> Iterator[tuple[str, str]]:
    if not _is_number(hook.timeout_s) or not 0 < hook.timeout_s <= _DAY_S:
        yield "timeout_s must be greater than 0", f"Set seconds up to {_DAY_S}"
    if hook.on_error not in _ON_ERROR:
        yield f"on_error must be one of {', '.join(_ON_ERROR)}", 'Write on_error="deny"'
    if not isinstance(hook.order, int) or isinstance(hook.order, bool):
        yield "order must be a whole number", "Write order=0"
    if not isinstance(hook.only_findings, bool):
        yield "only_findings must be True or False", "Write only_findings=False"


def _filters(hook: Any) -> Iterator[tuple[str, str]]:
    names = hook.filter_names
    # A string would match each of its substrings.
    if names is not None and not (
        isinstance(names, frozenset) and all(isinstance(name, str) for name in names)
    ):
        yield "filter_names must be a frozenset of tool names", 'Write frozenset({"bash"})'
    if hook.matches is not None and not callable(hook.matches):
        yield "matches must be a function of a tool's name", "Pass a function, or omit it"
    if not callable(hook.active):
        yield "active must be a function", "Omit it"
    if hook.slots is not None and not isinstance(hook.slots, asyncio.Semaphore):
        yield "slots must be an asyncio.Semaphore", "Omit it"
    if hook.matcher is not None and not isinstance(hook.matcher, str):
        yield "matcher must be text", "Omit it"


def _is_async(handler: Any) -> bool:
    called = getattr(handler, "__call__", None)  # noqa: B004 - an object with such a method
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def _takes_one(handler: Any) -> bool:
    try:
        inspect.signature(handler).bind(object())
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _place(hook: Any) -> dict[str, str]:
    code = getattr(hook.handler, "__code__", None)
    return {} if code is None else {"at": f"{code.co_filename}:{code.co_firstlineno}"}
