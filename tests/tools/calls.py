"""Calling a tool as the executor does, without its policy: names, arguments, result shape."""

from __future__ import annotations

import inspect
import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator

from app.core.errors import ToolFailed
from app.core.text import dump_json
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult, as_result
from app.toolkit.tool import Tool


@dataclass
class Called:
    """The result of one call and what it streamed."""

    result: ToolResult
    streamed: list[Output] = field(default_factory=list)


async def call(tool: Tool, ctx: ToolContext, /, **arguments: Any) -> ToolResult:
    """Call `tool` under its own name."""
    return (await stream(tool, ctx, tool.name, **arguments)).result


async def call_as(name: str, tool: Tool, ctx: ToolContext, /, **arguments: Any) -> ToolResult:
    """Call `tool` under one of its other names."""
    return (await stream(tool, ctx, name, **arguments)).result


async def stream(tool: Tool, ctx: ToolContext, called: str, /, **arguments: Any) -> Called:
    """Call `tool` under the name `called` and keep its live output."""
    alias = next((alias for alias in tool.aliases if alias.name == called), None)
    assert alias is not None or called == tool.name
    if alias is not None and alias.adapt is not None:
        arguments = alias.adapt(arguments)
    named = {tool.argument_aliases.get(key, key): value for key, value in arguments.items()}
    done = await _run(tool, tool.validate(json.dumps(named).encode()), ctx)
    assert_as_declared(tool, done.result)
    if alias is not None and alias.reshape is not None:
        done.result = alias.reshape(done.result)
    return done


_CHECKERS: dict[int, Draft202012Validator] = {}


def assert_as_declared(tool: Tool, result: ToolResult) -> None:
    """A success holds what the tool says that it returns."""
    if not result.success or tool.return_schema is None:
        return
    checker = _CHECKERS.get(id(tool.return_schema))
    if checker is None:
        checker = _CHECKERS[id(tool.return_schema)] = Draft202012Validator(tool.return_schema)
    found = checker.iter_errors(json.loads(dump_json(result.data)))
    assert [(list(error.absolute_path), error.message) for error in found] == [], tool.name


async def _run(tool: Tool, args: Any, ctx: ToolContext) -> Called:
    streamed: list[Output] = []
    try:
        if not tool.is_streaming:
            returned: Any = tool.function(args, ctx)
            assert inspect.isawaitable(returned)
            return Called(as_result(await returned))
        result: ToolResult | None = None
        generator: Any = tool.function(args, ctx)
        async with aclosing(generator) as items:
            async for item in items:
                if isinstance(item, Output):
                    streamed.append(item)
                else:
                    result = as_result(item)
    except ToolFailed as error:
        code = str(error.details.get("code", error.code))
        return Called(ToolResult.fail(error.message, code=code), streamed)
    assert result is not None
    return Called(result, streamed)
