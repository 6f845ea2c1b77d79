"""Tool definitions in the formats of models and their servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import orjson

from app.catalog.catalog import wire_name
from app.toolkit.tool import Tool

Format = Literal["native", "openai", "anthropic"]

# Annotations without use for a model.
_NOISE = frozenset({"title", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly"})
# Keys whose children are names of arguments or definitions, not annotations.
_NAMES = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
# Keys whose values are data and stay unchanged.
_DATA = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired"})
_NOTHING = {"type": "null"}


def to_native(tool: Tool) -> dict[str, Any]:
    """Return the manifest's ten fields."""
    return tool.manifest()


def openai_definition(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{"type": "function", "function": {name, description, parameters}}`."""
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def to_openai(tool: Tool) -> dict[str, Any]:
    return openai_definition(wire_name(tool.name), tool.description, tool.parameters)


def to_anthropic(tool: Tool) -> dict[str, Any]:
    """Return `{name, description, input_schema}`."""
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


# Fitted to definitions counted with the published vocabulary cl100k_base. Other models differ by a
# fifth; order and proportion are what an operator needs.
_CHARS_PER_TOKEN = 4.45
_PER_MARK = 0.26
_MARKS = b'{}[]:,"'
_ASCII = bytes(range(0x80))
_CONTINUING = bytes(range(0x80, 0xC0))  # the bytes of a character except its first


def estimate_tokens(definition: Mapping[str, Any]) -> int:
    """Estimate the tokens of a definition per request, without a tokenizer.

    About four and a half letters make a token, JSON punctuation mostly merges with its neighbors,
    and each non-ASCII character is about one token.
    """
    encoded = orjson.dumps(definition)
    marks = len(encoded) - len(encoded.translate(None, _MARKS))
    letters = len(encoded) - len(encoded.translate(None, _ASCII)) - marks
    wide = len(encoded.translate(None, _ASCII + _CONTINUING))
    return round(letters / _CHARS_PER_TOKEN + marks * _PER_MARK + wide)


def model_definition(tool: Tool, name: str) -> dict[str, Any]:
    """Return a tool's definition for a model: `to_anthropic` under the name, pruned."""
    definition = to_anthropic(tool)
    return {**definition, "name": name, "input_schema": pruned(tool.parameters)}


_RENDERERS = {"native": to_native, "openai": to_openai, "anthropic": to_anthropic}


def render(tools: Iterable[Tool], form: Format = "native") -> list[dict[str, Any]]:
    """Return the definitions of `tools`, in order."""
    renderer = _RENDERERS[form]
    return [renderer(tool) for tool in tools]


def build_request(
    messages: list[dict[str, Any]],
    tools: Iterable[Tool],
    model: str = "glm-5",
    tool_choice: str | dict[str, Any] = "auto",
    **overrides: Any,
) -> dict[str, Any]:
    """Return the body of a chat completion request; `overrides` take precedence.

    Without tools there is no `tools` and no `tool_choice`: servers refuse empty ones.
    """
    body: dict[str, Any] = {"model": model, "messages": messages}
    definitions = render(tools, "openai")
    if definitions:
        body |= {"tools": definitions, "tool_choice": tool_choice}
    return body | overrides


def pruned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a smaller schema, which never allows more than the whole one."""
    result: dict[str, Any] = _without_null(_prune(schema))
    return result


def _prune(node: Any) -> Any:
    if isinstance(node, list):
        return [_prune(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept: dict[str, Any] = {}
    for key, item in node.items():
        if key in _DATA:
            kept[key] = item
        elif key in _NAMES and isinstance(item, Mapping):
            kept[key] = {
                name: _without_null(_prune(sub)) if key == "properties" else _prune(sub)
                for name, sub in item.items()
            }
        elif key not in _NOISE:
            kept[key] = _prune(item)
    return kept


def _without_null(node: Any) -> Any:
    """Simplify `X or null, null by default` to `X`: omission means the same with fewer tokens."""
    if not isinstance(node, dict) or "default" not in node or node["default"] is not None:
        return node
    choices = node.get("anyOf")
    if not isinstance(choices, list) or _NOTHING not in choices:
        return node
    rest = [choice for choice in choices if choice != _NOTHING]
    others = {key: item for key, item in node.items() if key not in ("anyOf", "default")}
    if len(rest) == 1 and isinstance(rest[0], dict):
        # Both may have a description; the outer one describes the argument.
        return {**rest[0], **others}
    return {**others, "anyOf": rest}
