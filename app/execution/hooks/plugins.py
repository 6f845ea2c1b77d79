"""Python hooks from outside this repository: installed packages, and files of the plugin folder.

A package lists them under the entry point group `tollgate.hooks`: a `HookConfig`, several, a module
with `HOOKS`, or a function that returns one of these. A file of the plugin folder defines `HOOKS`.
A plugin whose hooks cannot be loaded is a missing gate: unless the operator says otherwise, every
call is denied until the plugin is fixed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from app.catalog.catalog import Catalog
from app.catalog.failures import code_of
from app.catalog.plugin_problems import one_line
from app.core.error_boundary import try_call
from app.core.errors import ConfigurationError
from app.core.text import clean
from app.execution.hooks.chain import Hooks
from app.execution.hooks.model import (
    HookConfig,
    HookContext,
    HookMissing,
    HookProblem,
    HookResult,
    HookType,
)
from app.execution.hooks.validation import check_hooks

log = logging.getLogger(__name__)

GROUP = "tollgate.hooks"
SHUT_ORDER = -1_000_000


def load_hook_plugins(
    hooks: Hooks, catalog: Catalog, *, shut: bool = True, installed: bool = True
) -> None:
    """Register the hooks of plugins, and a placeholder for each plugin that cannot be loaded.

    Imports third-party code and blocks: call it before the loop serves requests.

    Args:
        shut: deny every call while a hook plugin is missing; otherwise only report it.
    """
    for problem in catalog.problems:
        if problem.brings_hooks:
            missing = HookProblem(
                name=clean(problem.name),
                where=clean(problem.where),
                error=problem.error,
                code=problem.code,
                is_shut=shut,
            )
            _missing(hooks, missing)
    for name, brought in catalog.global_hooks.items():
        _adopt(hooks, name, "plugin folder", brought, shut=shut)
    if not installed:
        return
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        where = f"entry point {point.value}"
        exposed, error = try_call(_load, point)
        if error is not None:
            _missing(hooks, _problem(point.name, where, error, shut=shut))
        else:
            _adopt(hooks, point.name, where, exposed or (), shut=shut)


def _load(point: EntryPoint) -> tuple[Any, ...]:
    return hooks_in(point.load())


def hooks_in(exposed: Any) -> tuple[Any, ...]:
    """Return the hooks of a module, a hook, a list of hooks, or a function.

    Raises:
        ConfigurationError: the object provides none.
    """
    if isinstance(exposed, ModuleType):
        exposed = getattr(exposed, "HOOKS", None)
    elif callable(exposed):
        exposed = exposed()
    if isinstance(exposed, HookConfig):
        return (exposed,)
    if not isinstance(exposed, Iterable) or isinstance(exposed, str | bytes):
        raise ConfigurationError("contains no hooks: expose HOOKS, a list of HookConfig")
    return tuple(exposed)


def _adopt(hooks: Hooks, name: str, where: str, brought: Iterable[Any], *, shut: bool) -> None:
    """Register all hooks of a plugin, or none."""
    listed, error = try_call(_checked, brought, name)
    if error is not None:
        _missing(hooks, _problem(name, where, error, shut=shut))
        return
    for hook in listed or ():
        hooks.register(hook)


def _checked(brought: Iterable[Any], name: str) -> list[HookConfig]:
    listed = check_hooks(brought)
    origin = f"plugin {clean(name)}"
    # Only built-in hooks may run last.
    return [replace(hook, builtin=False, origin=origin) for hook in listed]


def _problem(name: str, where: str, error: BaseException, *, shut: bool) -> HookProblem:
    return HookProblem(
        name=clean(name),
        where=clean(where),
        error=one_line(error),
        code=code_of(error),
        is_shut=shut,
    )


def _missing(hooks: Hooks, problem: HookProblem) -> None:
    """Report a missing hook plugin; if configured, register a hook that denies every call."""
    name = problem.name
    hooks.problems.append(problem)
    log.error("cannot load hook plugin %s (%s): %s", name, problem.where, problem.error)
    if not problem.is_shut:
        return

    async def shut_gate(_: HookContext) -> HookResult:
        raise HookMissing(
            "the plugin failed to load, so calls would not be checked; an "
            "administrator must fix or remove it"
        )

    hooks.register(
        HookConfig(
            name,
            HookType.PRE_TOOL_USE,
            shut_gate,
            order=SHUT_ORDER,
            origin=f"missing plugin {name}",
        )
    )
