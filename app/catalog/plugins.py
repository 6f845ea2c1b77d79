"""Tools from outside this repository: installed packages and a folder of files.

A plugin is a module with a tuple `TOOLS`, with a function `register(registry)`, with
functions under the decorator of `app.catalog.seed_api`, or with a list `HOOKS`. A broken
one is listed in the catalog's problems; it leaves nothing behind and stops nobody else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from app.catalog.catalog import PluginProblem
from app.catalog.declarations import check_tool
from app.catalog.errors import EmptyPlugin, InvalidTool
from app.catalog.plugin_problems import located, problem_of
from app.catalog.registry import ToolRegistry
from app.catalog.seed_api import PluginApi, recording
from app.catalog.seed_imports import offer_seed_imports
from app.core.errors import ConfigurationError
from app.core.guarded_import import Interrupt, limited, watched_for_interrupt
from app.core.text import clean
from app.toolkit.services import register_for_plugins
from app.toolkit.tool import Source, Tool

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tollgate.tools"
IMPORT_S = 60.0
"""Seconds for which one plugin may keep the service from starting."""
_HOOKS = re.compile(r"\bHOOKS\b")


CheckHooks = Callable[[Sequence[Any]], object]
"""Raises when something is no hook; what hooks are, a layer above knows."""


@dataclass(frozen=True, slots=True)
class _Source:
    """One plugin: `load` imports it and gives what its author exposes."""

    name: str
    where: str
    load: Callable[[], Any]
    discard: Callable[[], None]
    file: Path | None = None
    brings: Source = "plugin"


def load_plugins(
    registry: ToolRegistry,
    folder: Path | None = None,
    *,
    installed: bool = True,
    check_hooks: CheckHooks | None = None,
) -> tuple[PluginProblem, ...]:
    """Register every plugin's tools and give the problems, which the catalog lists too.

    Imports other people's code and blocks meanwhile, a minute for each at most: call it
    before the loop serves anybody. A missing folder holds no plugins.

    Args:
        check_hooks: looks at the hooks that a plugin brings.

    Raises:
        ConfigurationError: `folder` is there but cannot be listed.
    """
    offer_seed_imports()
    sources = [*(_installed() if installed else ()), *(_in_folder(folder) if folder else ())]
    with watched_for_interrupt() as interrupt, registry.transaction():
        attempts = [_attempt(registry, source, check_hooks, interrupt) for source in sources]
        problems = tuple(problem for problem in attempts if problem)
        registry.set_problems("plugins", problems)
    return problems


def _installed() -> Iterator[_Source]:
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        where = f"entry point {point.value}"
        yield _Source(point.name, where, point.load, lambda: None, brings="external")


def _in_folder(folder: Path) -> list[_Source]:
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigurationError(
            f"plugin_dir {str(folder)!r} cannot be read: {error.strerror}"
        ) from error
    return [_file_source(path) for path in paths if _is_plugin(path)]


def _is_plugin(path: Path) -> bool:
    if path.name.startswith(("_", ".")):
        return False
    try:
        return path.suffix == ".py" if path.is_file() else (path / "__init__.py").is_file()
    except PermissionError:
        # loading it fails too, and that puts it on the list of problems
        return True


def _file_source(path: Path) -> _Source:
    module = _module_name(path)
    return _Source(
        name=clean(path.stem),
        where=clean(str(path)),
        load=lambda: _import_file(module, path),
        discard=lambda: _forget(module),
        file=path / "__init__.py" if path.is_dir() else path,
    )


def _module_name(path: Path) -> str:
    """A private name: two plugins of one name, or one named like a library, do not meet."""
    digest = hashlib.sha256(str(path.absolute()).encode("utf-8", "replace")).hexdigest()[:8]
    return f"_tollgate_plugin_{digest}_" + re.sub(r"\W", "_", clean(path.stem))


def _import_file(name: str, path: Path) -> ModuleType:
    is_package = path.is_dir()
    spec = importlib.util.spec_from_file_location(
        name,
        path / "__init__.py" if is_package else path,
        submodule_search_locations=[str(path)] if is_package else None,
    )
    if spec is None or spec.loader is None:
        raise InvalidTool(f"{path.name!r} is not a Python file")
    _forget(name)
    module = importlib.util.module_from_spec(spec)
    # dataclasses and relative imports look their module up by name
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _forget(name: str) -> None:
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]


def _attempt(
    registry: ToolRegistry, source: _Source, check_hooks: CheckHooks | None, interrupt: Interrupt
) -> PluginProblem | None:
    try:
        with registry.transaction(), limited(IMPORT_S):
            _register(registry, source, check_hooks)
    except BaseException as error:
        # Third-party code at the boundary may raise anything; whatever it is becomes a
        # row an operator reads. An interrupt from the keyboard still ends the program.
        if interrupt.is_real and isinstance(error, KeyboardInterrupt):
            raise
        log.warning("plugin %s (%s) is left out", source.name, source.where, exc_info=error)
        source.discard()
        brings_hooks = _should_bring_hooks(source)
        return problem_of(source.name, source.where, error, source.file, brings_hooks=brings_hooks)
    return None


def _should_bring_hooks(source: _Source) -> bool:
    """Whether a file that could not be loaded speaks of `HOOKS`, or cannot even be read."""
    if source.file is None:
        return False
    try:
        return bool(_HOOKS.search(source.file.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return True


def _register(registry: ToolRegistry, source: _Source, check_hooks: CheckHooks | None) -> None:
    api = PluginApi()
    with recording(api):
        exposed = source.load()
        _collect(api, exposed)
    api.close()
    hooks = _hooks_of(exposed)
    if not api.registrations and not hooks and not api.services:
        raise EmptyPlugin(
            "defines no tools: expose TOOLS, register(registry), or use the @tool decorator"
        )
    if hooks:
        if check_hooks is not None:
            check_hooks(hooks)
        registry.add_hooks(source.name, hooks)
    for item in api.registrations:
        with located(item.tool):
            check_tool(item.tool, foreign=True)
            if item.hooks and check_hooks is not None:
                check_hooks(item.hooks)
            tool = replace(item.tool, source=source.brings)
            registry.register(tool, replace=item.replace, hooks=item.hooks)
    for name, service in api.services.items():
        register_for_plugins(name, service)


def _collect(api: PluginApi, exposed: Any) -> None:
    """Add what a module, a tool, a list of tools or a `register` function brings."""
    if isinstance(exposed, ModuleType):
        _collect_listed(api, getattr(exposed, "TOOLS", ()))
        register = getattr(exposed, "register", None)
        # a module that imported the registering function did not define one
        if callable(register) and getattr(register, "__module__", None) == exposed.__name__:
            register(api)
    elif isinstance(exposed, Tool):
        api.register(exposed)
    elif callable(exposed):
        exposed(api)
    else:
        _collect_listed(api, exposed)


def _hooks_of(exposed: Any) -> tuple[Any, ...]:
    """What a module's `HOOKS` holds; what that is, the room of the hooks knows."""
    listed = getattr(exposed, "HOOKS", ()) if isinstance(exposed, ModuleType) else ()
    if not isinstance(listed, Iterable) or isinstance(listed, str):
        raise InvalidTool("HOOKS must be a list of HookConfig", fix="Write HOOKS = [HookConfig(…)]")
    return tuple(listed)


def _collect_listed(api: PluginApi, tools: Any) -> None:
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InvalidTool("TOOLS must be a tuple of Tool objects", fix="Write TOOLS = (my_tool,)")
    for item in tools:
        api.register(item)
