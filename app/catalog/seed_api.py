"""What a plugin file imports: one function and one decorator make a tool.

    from app.catalog.seed_api import tool

    @tool(name="greet", description="Greet somebody", parameters={...})
    def greet(arguments: dict) -> dict: ...

While plugins are being loaded, importing such a file registers its tools. Importing it
anywhere else, in a test for instance, checks them and registers nothing.
`register_extra_modules` works at any time: it is about the whole process. The four services
are the seeds': `FetchService()`, `SearchService()` and `ContentExtractor(html)` take what they
need from the service whose tool is running; their methods are awaited in async handlers.
`register_service` and `get_service` are the seeds' service locator; `get_service("llm_client")`
is the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from app.catalog.adapters import Handler, ToolDefinition, from_schema
from app.catalog.errors import InvalidTool
from app.core.errors import ConfigurationError
from app.toolkit.context import current_context
from app.toolkit.result import ToolResult
from app.toolkit.services import register_for_plugins, shared_service
from app.toolkit.tool import Tool
from app.tools.code.modules import register_extra_modules
from app.tools.data.services import CalculatorService
from app.tools.web.services import ContentExtractor, FetchService, SearchService

__all__ = [
    "CalculatorService",
    "ContentExtractor",
    "FetchService",
    "PluginApi",
    "Registration",
    "SearchService",
    "ToolResult",
    "get_service",
    "recording",
    "register",
    "register_extra_modules",
    "register_service",
    "registry",
    "tool",
]

F = TypeVar("F", bound=Handler)


@dataclass(frozen=True, slots=True)
class Registration:
    """A tool a plugin wants in the catalog."""

    tool: Tool
    replace: bool = False
    hooks: tuple[Any, ...] = ()


class PluginApi:
    """Collects what one plugin registers; nothing is in the catalog before it is loaded."""

    def __init__(self) -> None:
        self.registrations: list[Registration] = []
        self.services: dict[str, Any] = {}
        self._open = True

    def register(
        self, tool: Tool | ToolDefinition, *, replace: bool = False, hooks: Sequence[Any] = ()
    ) -> None:
        """As `ToolRegistry.register`; names are checked when the plugin is complete.

        Raises:
            ConfigurationError: the plugin was loaded already.
            InvalidTool: the definition cannot become a tool.
        """
        if isinstance(tool, ToolDefinition):
            tool = tool.to_tool()
        if not self._open:
            raise ConfigurationError("plugins can only register tools while they are loaded")
        self.registrations.append(Registration(tool, replace, tuple(hooks)))

    def register_service(self, name: str, service: Any) -> None:
        """Offer an object to every tool, once the plugin is loaded.

        Raises:
            InvalidTool: the name is no text, or there is no service.
        """
        if not isinstance(name, str) or not name.strip() or service is None:
            raise InvalidTool(f"a service requires a name and an object, got {name!r}")
        self.services[name] = service

    def define(
        self,
        name: str,
        handler: Handler,
        description: str,
        parameters: Mapping[str, Any],
        category: str = "general",
        **options: Any,
    ) -> Tool:
        """Register a handler; `options` as in `from_schema`.

        Raises:
            InvalidTool: as `from_schema`.
        """
        made = from_schema(name, description, parameters, handler, category, **options)
        self.register(made)
        return made

    def tool(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        category: str = "general",
        **options: Any,
    ) -> Callable[[F], F]:
        """`define` as a decorator; the function stays what it was."""

        def decorate(function: F) -> F:
            self.define(name, function, description, parameters, category, **options)
            return function

        return decorate

    def close(self) -> None:
        """Refuse further registrations."""
        self._open = False


_active: ContextVar[PluginApi | None] = ContextVar("active_plugin_api", default=None)


@contextmanager
def recording(api: PluginApi) -> Iterator[None]:
    """Inside, this module's `tool` and `register` record onto `api`."""
    token = _active.set(api)
    try:
        yield
    finally:
        _active.reset(token)


def tool(
    name: str,
    description: str,
    parameters: Mapping[str, Any],
    category: str = "general",
    **options: Any,
) -> Callable[[F], F]:
    """Register the decorated function as a tool and return it undecorated.

    The function takes the arguments as one dict; `options` are further fields of `Tool`,
    such as `permission_class`.

    Raises:
        InvalidTool: the schema or an option is wrong.
    """
    return _api().tool(name, description, parameters, category, **options)


def register(
    name: str,
    handler: Handler,
    description: str,
    parameters: Mapping[str, Any],
    category: str = "general",
    **options: Any,
) -> None:
    """`tool` without the decorator, for a lambda or a bound method.

    Raises:
        InvalidTool: as `tool`.
    """
    _api().define(name, handler, description, parameters, category, **options)


def register_service(name: str, service: Any) -> None:
    """Offer an object to every tool of the process; none of the service's own is replaced.

    Raises:
        InvalidTool: the name is no text, or there is no service.
    """
    api = _api()
    api.register_service(name, service)
    if _active.get() is None:
        register_for_plugins(name, service)


def get_service(name: str) -> Any | None:
    """A service of the installation whose tool is running, or one of a plugin; else None."""
    context = current_context()
    return shared_service(name) if context is None else context.services.get(name)


class _SeedRegistry:
    """The seeds' global `registry`, as far as a plugin needs it: `register(definition)`."""

    def register(self, tool: Tool | ToolDefinition) -> None:
        _api().register(tool)


registry = _SeedRegistry()


def _api() -> PluginApi:
    return _active.get() or PluginApi()
