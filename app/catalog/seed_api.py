"""API for plugin files: one function and one decorator create a tool.

    from app.catalog.seed_api import tool

    @tool(name="greet", description="Greet somebody", parameters={...})
    def greet(arguments: dict) -> dict: ...

While plugins are being loaded, importing such a file registers its tools. Importing it anywhere
else, in a test for instance, checks them and registers nothing. `register_extra_modules` works at
any time, for the whole process. The services `FetchService()`, `SearchService()` and
`ContentExtractor(html)` are those of the original design; they use the service of the running tool,
and their methods are awaited in async handlers. `register_service` and `get_service` are its
service locator; `get_service("llm_client")` is the model.
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
from app.tools.data.arithmetic import Number, evaluate
from app.tools.web.services import ContentExtractor, FetchService, SearchService


class CalculatorService:
    """Evaluates expressions."""

    def __init__(self, *, functions: bool = False) -> None:
        """Create the service.

        Args:
            functions: whether expressions may call functions, as set by the operator.
        """
        self._functions = functions

    def calculate(self, expression: str) -> Number:
        """Return the value of `expression`.

        Raises:
            ToolFailed: see `evaluate`.
        """
        return evaluate(expression, functions=self._functions)


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
    """Tool that a plugin registers."""

    tool: Tool
    replace: bool = False
    hooks: tuple[Any, ...] = ()


class PluginApi:
    """Collects the registrations of one plugin, which take effect once it is loaded."""

    def __init__(self) -> None:
        self.registrations: list[Registration] = []
        self.services: dict[str, Any] = {}
        self._open = True

    def register(
        self, tool: Tool | ToolDefinition, *, replace: bool = False, hooks: Sequence[Any] = ()
    ) -> None:
        """Record a tool; see `ToolRegistry.register`. Names are checked when the plugin is
        complete.

        Raises:
            ConfigurationError: the plugin is already loaded.
            InvalidTool: the definition is invalid.
        """
        if isinstance(tool, ToolDefinition):
            tool = tool.to_tool()
        if not self._open:
            raise ConfigurationError("plugins can only register tools while they are loaded")
        self.registrations.append(Registration(tool, replace, tuple(hooks)))

    def register_service(self, name: str, service: Any) -> None:
        """Provide an object to every tool, once the plugin is loaded.

        Raises:
            InvalidTool: the name is not a string, or the service is None.
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
            InvalidTool: see `from_schema`.
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
        """Return `define` as a decorator; the function is unchanged."""

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
    """Record calls of this module's `tool` and `register` on `api`."""
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
    """Register a handler like `tool`, for a lambda or a bound method.

    Raises:
        InvalidTool: see `tool`.
    """
    _api().define(name, handler, description, parameters, category, **options)


def register_service(name: str, service: Any) -> None:
    """Provide an object to every tool of the process; built-in services are not replaced.

    Raises:
        InvalidTool: the name is not a string, or the service is None.
    """
    api = _api()
    api.register_service(name, service)
    if _active.get() is None:
        register_for_plugins(name, service)


def get_service(name: str) -> Any | None:
    """Return a service of the running tool's installation, or one of a plugin, or None."""
    context = current_context()
    return shared_service(name) if context is None else context.services.get(name)


class _SeedRegistry:
    """Global `registry` of the original design, as needed by plugins: `register(definition)`."""

    def register(self, tool: Tool | ToolDefinition) -> None:
        _api().register(tool)


registry = _SeedRegistry()


def _api() -> PluginApi:
    return _active.get() or PluginApi()
