"""Small tools for the catalog's tests."""

from __future__ import annotations

from typing import Any

from app.catalog.adapters import from_schema
from app.toolkit.context import ToolContext
from app.toolkit.tool import Alias, Tool

EMPTY = {"type": "object", "properties": {}}


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"echo": arguments}


def make_tool(name: str = "echo", *aliases: str, **options: Any) -> Tool:
    """A tool that gives its arguments back."""
    parameters = options.pop("parameters", EMPTY)
    description = options.pop("description", f"Does {name}.")
    handler = options.pop("handler", echo)
    named = tuple(Alias(alias) for alias in aliases)
    return from_schema(name, description, parameters, handler, aliases=named, **options)


def context(**facts: Any) -> ToolContext:
    return ToolContext("call_1", "call_1", **facts)
