"""Checks of doctor and the start banner on hooks and limits."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.catalog.builtin import register_all_tools
from app.catalog.catalog import Catalog
from app.config.sections import HookSettings
from app.config.settings import Settings
from app.core.errors import ConfigurationError
from app.core.escaping import visible
from app.core.loop_watch import Blockage
from app.core.matcher import compile_matcher
from app.execution.doctor.check import Check
from app.execution.doctor.texts import SUBJECTS
from app.execution.hooks.chain import Hooks
from app.execution.hooks.model import HookProblem
from app.execution.hooks.plugins import load_hook_plugins
from app.execution.hooks.validation import check_hooks


class LoadedHooks(NamedTuple):
    """Tools and plugin hooks of the installation."""

    catalog: Catalog
    hooks: Hooks


def load_hooks(settings: Settings) -> LoadedHooks:
    """Load the tools and hooks of a stopped installation.

    Raises:
        ConfigurationError: the plugin folder is unusable.
    """
    registry = register_all_tools(
        plugin_dir=settings.plugins_dir, check_hooks=check_hooks, settings=settings
    )
    catalog = registry.snapshot()
    hooks = Hooks()
    load_hook_plugins(hooks, catalog, shut=settings.broken_hook_plugins == "deny")
    return LoadedHooks(catalog, hooks)


def hook_checks(settings: Settings, loaded_hooks: Callable[[], LoadedHooks]) -> Iterator[Check]:
    """Check for hooks that cannot work, and limits that cannot be counted."""
    try:
        catalog, hooks = loaded_hooks()
    except ConfigurationError as error:
        yield Check("plugins", "broken", "error", error=error.message)
        return
    for item in settings.hooks:
        yield _command_hook(settings, item, catalog)
    if settings.hooks and _is_inside(settings.hooks_dir, settings.workspace_dir):
        yield Check("hook_folder", "warning", "hook.exposed", path=settings.hooks_dir)
    yield from _left_out(catalog)
    yield from _plugins(settings, hooks)
    yield from _limits(settings)


def missing_hooks(problems: Iterable[HookProblem]) -> list[str]:
    """Return the banner's lines about hook plugins that could not be loaded."""
    return [
        f"  {'HOOKS':10} {visible(problem.name)} cannot be loaded, so "
        + SUBJECTS[f"hook_plugin.{'shut' if problem.is_shut else 'reported'}"].meaning
        for problem in problems
    ]


def _command_hook(settings: Settings, item: HookSettings, catalog: Catalog) -> Check:
    program = _program(item)
    where = _found(program, settings.hooks_dir)
    named = {"hook": item.name, "folder": settings.hooks_dir}
    if where is None:
        return Check("hook.missing", "broken", "hook.missing", program=visible(program), **named)
    if _is_inside(where, settings.workspace_dir):
        return Check("hook.exposed", "warning", "hook.exposed", path=where, **named)
    if not _matches(item, catalog):
        matcher = visible(item.matcher)
        return Check("hook.unmatched", "warning", "hook.unmatched", matcher=matcher, **named)
    return Check("hook", "ok", "hook.works", event=item.event, origin=where, **named)


def _program(item: HookSettings) -> str:
    if not isinstance(item.command, str):
        return item.command[0]
    try:
        words = shlex.split(item.command)
    except ValueError:
        words = item.command.split()
    # `NAME=value program`, and other syntax that only a shell understands.
    return next((word for word in words if "=" not in word), "sh")


def _found(program: str, folder: Path) -> Path | None:
    if "/" in program:
        path = folder / program
        return path if os.access(path, os.X_OK) and path.is_file() else None
    from app.operations.local.environment import SAFE_PATH

    found = shutil.which(program, path=SAFE_PATH)
    return Path(found) if found else None


def _matches(item: HookSettings, catalog: Catalog) -> bool:
    pattern = compile_matcher(item.matcher)
    return any(pattern.fullmatch(name) for name in (*catalog.tools, *catalog.aliases))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def loop_checks(blockages: Iterable[Blockage]) -> Iterator[Check]:
    """Check for plugins that blocked the service, each reported once with its longest time."""
    longest: dict[tuple[str, str], Blockage] = {}
    for item in blockages:
        if item.name is None:
            continue
        key = (item.name, item.at)
        if key not in longest or longest[key].seconds < item.seconds:
            longest[key] = item
    for item in longest.values():
        yield Check(
            "loop",
            "warning",
            "loop.stopped" if item.was_stopped else "loop.blocked",
            culprit=visible(item.name or ""),
            at=visible(item.at),
            seconds=f"{item.seconds:.1f}",
        )


def _left_out(catalog: Catalog) -> Iterator[Check]:
    for problem in catalog.problems:
        yield Check(
            "plugin",
            "warning",
            "plugin.left_out",
            plugin=visible(problem.name),
            at=visible(problem.at or problem.where),
            error=visible(problem.error),
            mend=visible(problem.fix),
        )


def _plugins(settings: Settings, hooks: Hooks) -> Iterator[Check]:
    shut = settings.broken_hook_plugins == "deny"
    for problem in hooks.problems:
        yield Check(
            f"hook_plugin.{'shut' if shut else 'reported'}",
            "broken" if shut else "warning",
            "error",
            plugin=visible(problem.name),
            error=visible(problem.error),
            file=visible(problem.where),
        )
    for hook in hooks.list_all():
        if not hook.origin.startswith("missing"):
            yield Check(
                "hook",
                "ok",
                "hook.works",
                hook=visible(hook.name),
                event=hook.hook_type.value,
                origin=hook.origin,
            )


def _limits(settings: Settings) -> Iterator[Check]:
    if settings.limits.cost_per_session is None or settings.model in settings.model_prices:
        return
    yield Check("cost_limit", "broken", "cost_limit.no_price", model=repr(settings.model))
