"""A tool's definition in the shapes that models and their servers expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from app.catalog.catalog import wire_name
from app.toolkit.tool import Tool

Format = Literal["native", "openai", "anthropic"]


def to_native(tool: Tool) -> dict[str, Any]:
    """The manifest's ten fields."""
    return tool.manifest()


def openai_definition(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`{"type": "function", "function": {name, description, parameters}}`."""
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def to_openai(tool: Tool) -> dict[str, Any]:
    return openai_definition(wire_name(tool.name), tool.description, tool.parameters)


def to_anthropic(tool: Tool) -> dict[str, Any]:
    """`{name, description, input_schema}`."""
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


_RENDERERS = {"native": to_native, "openai": to_openai, "anthropic": to_anthropic}


def render(tools: Iterable[Tool], form: Format = "native") -> list[dict[str, Any]]:
    """The definitions of `tools`, in their order."""
    renderer = _RENDERERS[form]
    return [renderer(tool) for tool in tools]


def build_request(
    messages: list[dict[str, Any]],
    tools: Iterable[Tool],
    model: str = "glm-5",
    tool_choice: str | dict[str, Any] = "auto",
    **overrides: Any,
) -> dict[str, Any]:
    """The body of a chat completion request; `overrides` win over what is built here.

    Without tools there is no `tools` and no `tool_choice`: servers refuse empty ones.
    """
    body: dict[str, Any] = {"model": model, "messages": messages}
    definitions = render(tools, "openai")
    if definitions:
        body |= {"tools": definitions, "tool_choice": tool_choice}
    return body | overrides
