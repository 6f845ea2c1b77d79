"""Tools from outside this repository: installed packages and a folder of files.

A plugin that fails to load becomes a `PluginProblem`; the others load. The folder can be reloaded
while the service runs: all changes apply, or none.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from app.catalog.catalog import PluginProblem
from app.catalog.declarations import check_tool
from app.catalog.errors import EmptyPlugin, InvalidTool, PluginsRefused
from app.catalog.plugin_problems import located, problem_of
from app.catalog.plugin_sources import PluginSource, installed_plugins, plugins_in
from app.catalog.registry import ToolRegistry
from app.catalog.seed_api import PluginApi, Registration, recording
from app.catalog.seed_imports import offer_seed_imports
from app.core.error_boundary import try_call
from app.core.errors import TollgateError
from app.core.guarded_import import Interrupt, limited, watched_for_interrupt
from app.toolkit.services import register_for_plugins, withdraw_for_plugins
from app.toolkit.tool import Tool

log = logging.getLogger(__name__)

IMPORT_S = 60.0
"""Maximum time in seconds that one plugin may delay the start."""

CheckHooks = Callable[[Sequence[Any]], object]
"""Raises for an invalid hook; the check is supplied by a higher layer."""


@dataclass(frozen=True, slots=True)
class _Brought:
    """Objects that a plugin exposes."""

    registrations: tuple[Registration, ...] = ()
    hooks: tuple[Any, ...] = ()
    services: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Plugin:
    """Plugin as last loaded; with a problem, it has nothing in the catalog."""

    source: PluginSource
    brought: _Brought = field(default_factory=_Brought)
    problem: PluginProblem | None = None

    @property
    def has_hooks(self) -> bool:
        return bool(self.brought.hooks) or (self.problem is not None and self.problem.brings_hooks)

    def differs_from(self, source: PluginSource) -> bool:
        """Return whether the plugin must be loaded again; a missing dependency may exist now."""
        is_tried = self.problem is not None and not self.problem.brings_hooks
        return is_tried or self.source.stamp != source.stamp


@dataclass(frozen=True, slots=True)
class Reloaded:
    """Changes of a reload.

    Attributes:
        read, removed: names of plugins.
        tools_added, tools_changed, tools_removed: names of tools.
        problems: every plugin that is now left out.
    """

    read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    tools_added: tuple[str, ...] = ()
    tools_changed: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    problems: tuple[PluginProblem, ...] = ()


def load_plugins(
    registry: ToolRegistry,
    folder: Path | None = None,
    *,
    installed: bool = True,
    check_hooks: CheckHooks | None = None,
) -> tuple[PluginProblem, ...]:
    """Register every plugin's tools and return the problems; see `Plugins.load`."""
    return Plugins(registry, folder, installed=installed, check_hooks=check_hooks).load()


class Plugins:
    """Plugins of one registry."""

    def __init__(
        self,
        registry: ToolRegistry,
        folder: Path | None = None,
        *,
        installed: bool = True,
        check_hooks: CheckHooks | None = None,
    ) -> None:
        """Create the plugins of a registry.

        Args:
            check_hooks: validates the hooks of a plugin.
        """
        self._registry = registry
        self._folder = folder
        self._installed = installed
        self._check_hooks = check_hooks
        self._plugins: list[_Plugin] = []
        self._former: list[PluginSource] = []
        self._shipped: dict[str, Registration] = {}
        self._reloading = asyncio.Lock()

    def load(self) -> tuple[PluginProblem, ...]:
        """Register every plugin's tools and return the problems, also listed in the catalog.

        Imports third-party code and blocks, at most a minute for each: call it before the loop
        serves requests. A missing folder has no plugins.

        Raises:
            ConfigurationError: the folder exists but cannot be listed.
        """
        offer_seed_imports()
        folder = plugins_in(self._folder) if self._folder else []
        catalog = self._registry.snapshot()
        self._shipped = {
            name: Registration(tool, hooks=catalog.hooks.get(name, ()))
            for name, tool in catalog.tools.items()
        }
        sources = [*(installed_plugins() if self._installed else ()), *folder]
        with watched_for_interrupt() as interrupt, self._registry.transaction():
            self._plugins = [self._first(source, interrupt) for source in sources]
            return self._report(self._plugins)

    def _first(self, source: PluginSource, interrupt: Interrupt) -> _Plugin:
        try:
            with self._registry.transaction(), limited(IMPORT_S):
                plugin = _Plugin(source, _read(source, self._check_hooks))
                self._adopt(plugin)
                if plugin.brought.hooks:
                    self._registry.add_hooks(source.name, plugin.brought.hooks)
        except BaseException as error:
            # Third-party code may raise anything, which is reported to the operator. A keyboard
            # interrupt still ends the program.
            if interrupt.is_real and isinstance(error, KeyboardInterrupt):
                raise
            return _left_out(source, error)
        _offer(plugin)
        return plugin

    def _adopt(self, plugin: _Plugin) -> None:
        for item in plugin.brought.registrations:
            with located(item.tool):
                self._registry.register(item.tool, replace=item.replace, hooks=item.hooks)

    def _report(self, plugins: Iterable[_Plugin]) -> tuple[PluginProblem, ...]:
        problems = tuple(plugin.problem for plugin in plugins if plugin.problem is not None)
        self._registry.set_problems("plugins", problems)
        return problems

    async def reload(self) -> Reloaded:
        """Load the changes in the folder; the catalog takes all of them, or none.

        Active calls finish with their present code. Installed packages, and plugins with hooks, are
        loaded only at startup.

        Raises:
            PluginsRefused: a new or previously loaded plugin fails, or one with hooks has changed.
                Nothing changes then.
            ConfigurationError: the folder exists but cannot be listed.
        """
        async with self._reloading:
            found = await asyncio.to_thread(plugins_in, self._folder) if self._folder else []
            known = {plugin.source.where: plugin for plugin in self._plugins}
            changed = [
                source
                for source in found
                if (plugin := known.get(source.where)) is None or plugin.differs_from(source)
            ]
            there = {source.where for source in found}
            gone = [
                plugin
                for plugin in self._plugins
                if plugin.source.file is not None and plugin.source.where not in there
            ]
            replaced = [known[source.where] for source in changed if source.where in known]
            _require_no_hooks([*gone, *replaced])
            fresh = await self._read_all(changed)
            # No await from here on, so that no intermediate catalog is visible.
            kept = [plugin for plugin in self._plugins if plugin.source.file is None]
            kept += [fresh.get(source.where) or known[source.where] for source in found]
            try:
                _require_no_hooks(plugin for plugin in fresh.values() if plugin.problem is None)
                done = self._swap(kept, known)
            except BaseException:
                for plugin in fresh.values():
                    plugin.source.discard()
                raise
            for source in self._former:
                source.discard()
            self._former = [plugin.source for plugin in (*gone, *replaced)]
            for plugin in (*gone, *replaced):
                _withdraw(plugin)
            for plugin in kept:
                _offer(plugin)
            return replace(
                done,
                read=tuple(plugin.source.name for plugin in fresh.values()),
                removed=tuple(plugin.source.name for plugin in gone),
            )

    async def _read_all(self, changed: list[PluginSource]) -> dict[str, _Plugin]:
        """Return the plugins by location. Imported in a thread, so that the service stays
        responsive.
        """
        importlib.invalidate_caches()

        def read() -> dict[str, _Plugin]:
            return {source.where: _attempted(source, self._check_hooks) for source in changed}

        try:
            async with asyncio.timeout(IMPORT_S):
                return await asyncio.to_thread(read)
        except TimeoutError:
            raise PluginsRefused(
                f"The plugins did not load within {IMPORT_S:g} s; nothing was changed"
            ) from None

    def _swap(self, plugins: list[_Plugin], known: Mapping[str, _Plugin]) -> Reloaded:
        before = self._registry.snapshot().tools
        with self._registry.transaction():
            self._take_out()
            settled = [self._again(plugin) for plugin in plugins]
            _require_as_good(settled, known)
            problems = self._report(settled)
        self._plugins = settled
        after = self._registry.snapshot().tools
        changed = [name for name in after if before.get(name, after[name]) is not after[name]]
        return Reloaded(
            tools_added=tuple(name for name in after if name not in before),
            tools_changed=tuple(changed),
            tools_removed=tuple(name for name in before if name not in after),
            problems=problems,
        )

    def _take_out(self) -> None:
        """Undo the plugins' registrations; tools that they had replaced are restored."""
        for plugin in self._plugins:
            for item in plugin.brought.registrations:
                if self._registry.snapshot().tools.get(item.tool.name) is item.tool:
                    self._registry.unregister(item.tool.name)
        there = self._registry.snapshot().tools
        for name, shipped in self._shipped.items():
            if name not in there:
                self._registry.register(shipped.tool, hooks=shipped.hooks)

    def _again(self, plugin: _Plugin) -> _Plugin:
        if plugin.problem is not None:
            return plugin
        try:
            with self._registry.transaction():
                self._adopt(plugin)
        except TollgateError as error:
            return _left_out(plugin.source, error)
        return plugin


def _attempted(source: PluginSource, check_hooks: CheckHooks | None) -> _Plugin:
    brought, error = try_call(_read, source, check_hooks)
    return _Plugin(source, brought or _Brought()) if error is None else _left_out(source, error)


def _left_out(source: PluginSource, error: BaseException) -> _Plugin:
    log.warning("plugin %s (%s) failed to load", source.name, source.where, exc_info=error)
    source.discard()
    brings_hooks = source.should_bring_hooks()
    problem = problem_of(source.name, source.where, error, source.file, brings_hooks=brings_hooks)
    return _Plugin(source, problem=problem)


def _require_no_hooks(plugins: Iterable[_Plugin]) -> None:
    names = [plugin.source.name for plugin in plugins if plugin.has_hooks]
    if names:
        raise PluginsRefused(
            f"{', '.join(names)} contains hooks, which are only loaded at startup: "
            "restart the service",
            plugins=names,
        )


def _require_as_good(plugins: Iterable[_Plugin], known: Mapping[str, _Plugin]) -> None:
    """Refuse plugins that fail to load, unless they failed before."""
    worse = [
        plugin.problem
        for plugin in plugins
        if plugin.problem is not None
        and ((former := known.get(plugin.source.where)) is None or former.problem is None)
    ]
    if worse:
        named = "; ".join(f"{problem.at or problem.where}: {problem.error}" for problem in worse)
        raise PluginsRefused(
            f"Nothing was changed: {named}",
            plugins=[problem.name for problem in worse],
            fix="; ".join(problem.fix for problem in worse),
        )


def _read(source: PluginSource, check_hooks: CheckHooks | None) -> _Brought:
    """Import a plugin and validate its parts, without registering any."""
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
    if hooks and check_hooks is not None:
        check_hooks(hooks)
    registrations = []
    for item in api.registrations:
        with located(item.tool):
            check_tool(item.tool, foreign=True)
            if item.hooks and check_hooks is not None:
                check_hooks(item.hooks)
        registrations.append(replace(item, tool=replace(item.tool, source=source.brings)))
    return _Brought(tuple(registrations), hooks, dict(api.services))


def _offer(plugin: _Plugin) -> None:
    for name, service in plugin.brought.services.items():
        register_for_plugins(name, service)


def _withdraw(plugin: _Plugin) -> None:
    for name, service in plugin.brought.services.items():
        withdraw_for_plugins(name, service)


def _collect(api: PluginApi, exposed: Any) -> None:
    """Add what a module, a tool, a list of tools or a `register` function provides."""
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
    """Return a module's `HOOKS`; the hooks package validates them."""
    listed = getattr(exposed, "HOOKS", ()) if isinstance(exposed, ModuleType) else ()
    if not isinstance(listed, Iterable) or isinstance(listed, str):
        raise InvalidTool("HOOKS must be a list of HookConfig", fix="Write HOOKS = [HookConfig(…)]")
    return tuple(listed)


def _collect_listed(api: PluginApi, tools: Any) -> None:
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InvalidTool("TOOLS must be a tuple of Tool objects", fix="Write TOOLS = (my_tool,)")
    for item in tools:
        api.register(item)
