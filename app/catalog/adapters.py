"""Tools from foreign definitions: a function with a JSON Schema, a class, an agent tool object.

The capabilities of such a tool are unknown, so it has all of them (`EXTERNAL`, `NETWORK`) until its
author declares fewer.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from app.catalog.errors import InvalidTool
from app.catalog.formats import openai_definition
from app.core.errors import ProjectRequired, ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult, as_result
from app.toolkit.tool import PermissionClass, SideEffectScope, Tool

Handler = Callable[..., Any]
_INJECTED = "project_id"


def from_schema(
    name: str,
    description: str,
    parameters: Mapping[str, Any],
    handler: Handler,
    category: str = "general",
    *,
    pass_context: bool = False,
    closed: bool = True,
    **options: Any,
) -> Tool:
    """Create a tool from a handler that takes the arguments as one dict.

    Args:
        parameters: JSON Schema (2020-12) of the arguments; defaults in it are not filled in.
        handler: sync (runs in a thread), async, or an async generator (streams). It may return a
            `ToolResult` or any JSON value.
        pass_context: pass the `ToolContext` as the second argument.
        closed: refuse arguments not in the schema.
        options: further fields of `Tool`. With `needs_project` the handler finds the call's
            `project_id` among its arguments; the model neither sees nor sets it.

    Raises:
        InvalidTool: the schema, an option or the handler is invalid.
    """
    if not callable(handler):
        raise InvalidTool(f"handler of {name!r} must be callable")
    shown = _without_project(parameters) if options.get("needs_project") else parameters
    # Only tools with a schema need the library, whose import is slow.
    from app.catalog.json_schema import compile_schema

    schema, validate = compile_schema(shown, closed=closed)
    streaming = _is(inspect.isasyncgenfunction, handler)
    call = _HandlerCall(name, handler, pass_context, bool(options.get("needs_project")))
    fields: dict[str, Any] = {
        "permission_class": PermissionClass.EXTERNAL,
        "side_effect_scope": SideEffectScope.NETWORK,
        "is_streaming": streaming,
        **options,
    }
    if fields["is_streaming"] != streaming:
        raise InvalidTool(
            f"{name!r}: is_streaming requires an async generator, and an async generator "
            "requires is_streaming"
        )
    try:
        return Tool(
            name=name,
            description=description,
            parameters=schema,
            validate=validate,
            function=call.stream if streaming else call.run,
            category=category,
            **fields,
        )
    except TypeError as error:
        raise InvalidTool(f"unknown option of tool {name!r}: {error}") from None


def _without_project(parameters: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(parameters)
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if isinstance(properties, Mapping):
        schema["properties"] = {key: sub for key, sub in properties.items() if key != _INJECTED}
    if isinstance(required, list):
        schema["required"] = [key for key in required if key != _INJECTED]
    return schema


def _is(kind: Callable[[Any], bool], handler: Handler) -> bool:
    # an instance with an async `__call__` is equivalent to a function
    return kind(handler) or kind(getattr(handler, "__call__", None))  # noqa: B004


@dataclass(frozen=True, slots=True)
class _HandlerCall:
    """Runs one handler of any kind."""

    name: str
    handler: Handler
    pass_context: bool
    needs_project: bool

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        given = self._given(arguments, context)
        try:
            if _is(inspect.iscoroutinefunction, self.handler):
                value = await self.handler(*given)
            else:
                value = await asyncio.to_thread(self._call, given)
                if inspect.isawaitable(value):
                    value = await value
        except SystemExit as error:
            raise self._exited(error) from error
        return as_result(value)

    async def stream(self, arguments: dict[str, Any], context: ToolContext) -> AsyncIterator[Any]:
        try:
            async with aclosing(self.handler(*self._given(arguments, context))) as items:
                async for item in items:
                    yield item
        except SystemExit as error:
            raise self._exited(error) from error

    def _given(self, arguments: dict[str, Any], context: ToolContext) -> tuple[Any, ...]:
        if self.needs_project:
            if context.project_id is None:
                raise ProjectRequired(f"tool {self.name!r}")
            arguments = {**arguments, _INJECTED: context.project_id}
        return (arguments, context) if self.pass_context else (arguments,)

    def _call(self, given: tuple[Any, ...]) -> Any:
        try:
            return self.handler(*given)
        except StopIteration as error:
            # a future cannot transport it: the caller would wait forever
            raise ToolFailed(f"{self.name!r} raised StopIteration") from error

    def _exited(self, error: SystemExit) -> ToolFailed:
        # on the loop it would end the whole service
        return ToolFailed(f"{self.name!r} tried to exit with {error.code!r}")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """Tool as plain data: name, description, JSON Schema, handler, category."""

    name: str
    description: str
    parameters: dict[str, Any]
    handler: Handler
    category: str = "general"

    def to_openai_format(self) -> dict[str, Any]:
        return openai_definition(self.name, self.description, self.parameters)

    def to_tool(self, **options: Any) -> Tool:
        """Return the tool to register; `options` as in `from_schema`."""
        return from_schema(
            self.name, self.description, self.parameters, self.handler, self.category, **options
        )


class BaseTool(ABC):
    """Tool as a class; a subclass without all members cannot be instantiated."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def description(self) -> str: ...

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]: ...

    @abstractmethod
    async def execute(self, **kwargs: Any) -> str:
        """Run the tool; the keywords are the validated arguments."""


def from_class(source: type[BaseTool] | BaseTool, **options: Any) -> Tool:
    """Create a tool from a `BaseTool`, or from its class if that takes no arguments.

    Raises:
        InvalidTool: see `from_schema`.
        TypeError: the class lacks a member, or its constructor requires arguments.
    """
    instance = source() if isinstance(source, type) else source

    async def execute(arguments: dict[str, Any]) -> Any:
        return await instance.execute(**arguments)

    # For diagnostics that show where the tool is defined.
    execute.__wrapped__ = instance.execute  # type: ignore[attr-defined]
    return from_schema(instance.name, instance.description, instance.parameters, execute, **options)


class FrameworkTool(Protocol):
    """Object with the four members shared by agent frameworks; `execute` may be sync."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def inputSchema(self) -> Mapping[str, Any]: ...  # noqa: N802 - the frameworks' spelling

    @property
    def execute(self) -> Handler: ...


def from_agent_tool(source: FrameworkTool, **options: Any) -> Tool:
    """Create a tool from an agent tool object; `execute(args)` returns text or a JSON value.

    Raises:
        InvalidTool: see `from_schema`.
    """
    return from_schema(
        source.name, source.description, source.inputSchema, source.execute, **options
    )
