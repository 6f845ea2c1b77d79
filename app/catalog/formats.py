"""A tool's definition in the shapes that models and their servers expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import orjson

from app.catalog.catalog import wire_name
from app.catalog.model_schema import pruned
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


# Fitted on definitions counted with the published vocabulary cl100k_base; other models differ
# by a fifth, and order and proportion of the figures are what an operator needs.
_CHARS_PER_TOKEN = 4.45
_PER_MARK = 0.26
_MARKS = b'{}[]:,"'
_ASCII = bytes(range(0x80))
_CONTINUING = bytes(range(0x80, 0xC0))  # the bytes of a character but its first


def estimate_tokens(definition: Mapping[str, Any]) -> int:
    """About how many tokens a definition costs in each request. No tokenizer is asked.

    Letters come about four and a half to a token, JSON's punctuation mostly joins what stands
    beside it, and each character beyond ASCII is about a token of its own.
    """
    encoded = orjson.dumps(definition)
    marks = len(encoded) - len(encoded.translate(None, _MARKS))
    letters = len(encoded) - len(encoded.translate(None, _ASCII)) - marks
    wide = len(encoded.translate(None, _ASCII + _CONTINUING))
    return round(letters / _CHARS_PER_TOKEN + marks * _PER_MARK + wide)


def model_definition(tool: Tool, name: str) -> dict[str, Any]:
    """What an agent's model is shown: `to_anthropic` under that name, with the noise left out."""
    definition = to_anthropic(tool)
    return {**definition, "name": name, "input_schema": pruned(tool.parameters)}


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
