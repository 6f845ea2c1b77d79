"""Built-in toolsets, and the function that creates the registry."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from app.catalog.plugins import CheckHooks, load_plugins
from app.catalog.registry import ToolRegistry
from app.catalog.setting_limits import with_settings
from app.config.settings import Settings
from app.core.errors import ConfigurationError
from app.toolkit.tool import Tool

BUILTIN_TOOLSETS: tuple[str, ...] = (
    "app.tools.files.toolset",
    "app.tools.search.toolset",
    "app.tools.shell.toolset",
    "app.tools.code.toolset",
    "app.tools.dev.toolset",
    "app.tools.media.toolset",
    "app.tools.data.toolset",
    "app.tools.web.toolset",
    "app.tools.skills.toolset",
    "app.tools.planning.toolset",
    "app.tools.automation.toolset",
    "app.tools.memory.toolset",
    "app.tools.delegation.toolset",
    "app.tools.interaction.toolset",
    "app.tools.sql.toolset",
    "app.tools.channels.toolset",
    "app.tools.system.toolset",
)
"""Modules with a tuple `TOOLS`, in the order shown to models."""


def toolset_tools(module: str) -> tuple[Tool, ...]:
    """Return the tools of one toolset module, imported on first use.

    Raises:
        ConfigurationError: the module cannot be imported or lists no tools.
    """
    try:
        tools = import_module(module).TOOLS
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"cannot load toolset {module!r}: {error}") from error
    return tuple(tools)


def create_file_tools() -> list[Tool]:
    return list(toolset_tools("app.tools.files.toolset"))


def create_data_tools() -> list[Tool]:
    return list(toolset_tools("app.tools.data.toolset"))


def create_crawler_tools() -> list[Tool]:
    return list(toolset_tools("app.tools.web.toolset"))


def load_builtin(
    registry: ToolRegistry,
    toolsets: Iterable[str] = BUILTIN_TOOLSETS,
    *,
    settings: Settings | None = None,
) -> None:
    """Register the built-in tools, except those already registered.

    Args:
        settings: determine limits and defaults in their schemas; by default, the maximum of each
            setting.

    Raises:
        ConfigurationError: see `toolset_tools`.
        DuplicateTool: a name is in use.
    """
    with registry.transaction():
        for module in toolsets:
            for tool in toolset_tools(module):
                known = registry.get(tool.name)
                if known is None or known.function is not tool.function:
                    registry.register(tool if settings is None else with_settings(tool, settings))


def init_tools(registry: ToolRegistry) -> ToolRegistry:
    """Register the built-in tools under the original function name; may be called repeatedly."""
    load_builtin(registry)
    return registry


def register_all_tools(
    registry: ToolRegistry | None = None,
    *,
    toolsets: Iterable[str] = BUILTIN_TOOLSETS,
    plugin_dir: Path | None = None,
    installed_plugins: bool = True,
    check_hooks: CheckHooks | None = None,
    settings: Settings | None = None,
) -> ToolRegistry:
    """Return a registry with all tools of this installation: built-in tools first, then plugins.

    Raises:
        ConfigurationError: a built-in toolset or the plugin folder is unreadable.
    """
    registry = registry or ToolRegistry()
    load_builtin(registry, toolsets, settings=settings)
    load_plugins(registry, plugin_dir, installed=installed_plugins, check_hooks=check_hooks)
    return registry
