"""Pruning of schemas for models, since every annotation costs tokens in each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Annotations without use for a model.
_NOISE = frozenset({"title", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly"})
# Keys whose children are names of arguments or definitions, not annotations.
_NAMES = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
# Keys whose values are data and stay unchanged.
_DATA = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired"})
_NOTHING = {"type": "null"}


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
