"""Coercion of arguments with the right meaning but another JSON type than the schema requires.

Models write 5.0 for 5, "5" for 5, the text of a list for the list, and null for omitted values.
Only unambiguous values are changed: text stays text wherever text is allowed, and nothing becomes
text. Validation refuses the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

_MAX_DEPTH = 60
_MAX_FORMS = 50
# Runs on the event loop: larger values are left to validation, which refuses them.
_MAX_VALUES = 5000
_CHARS_LIKE_A_VALUE = 4000
_MAX_LITERAL = 20_000
# Above this, a float represents several integers.
_LARGEST_EXACT = 2**53
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_BEGINS_JSON = frozenset("-0123456789[{")
_BEGINS_COMPOUND = ("[", "{")

Schema = Mapping[str, Any]


def coerced(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return `arguments` as `schema` requires, at every depth, where unambiguous."""
    found = _Coercion(schema).value(arguments, schema, 0)
    return found if isinstance(found, dict) else arguments


class _Coercion:
    """Walk of a value along its schema; `root` resolves references."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._room = _MAX_VALUES

    def value(self, value: Any, schema: Any, depth: int) -> Any:
        """Return the value in a type that the schema allows; unchanged if there is none."""
        self._room -= 1 + (len(value) // _CHARS_LIKE_A_VALUE if isinstance(value, str) else 0)
        if depth > _MAX_DEPTH or self._room < 0:
            return value
        forms = list(self._forms(schema, 0))
        fitting = [form for form in forms if _allows(form, value)]
        if fitting:
            return self._inside(value, fitting, depth)
        for reading in _readings(value):
            if any(_allows(form, reading) for form in forms):
                return self.value(reading, schema, depth + 1)
        return self._listed(value, forms, depth)

    def _inside(self, value: Any, forms: Sequence[Schema], depth: int) -> Any:
        if isinstance(value, dict):
            return self._object(value, _best(value, forms), depth)
        if isinstance(value, list):
            items = next((form["items"] for form in forms if "items" in form), None)
            return [self.value(item, items, depth + 1) for item in value]
        return value

    def _object(self, value: dict[str, Any], form: Schema, depth: int) -> dict[str, Any]:
        known = form.get("properties", {})
        required = form.get("required", ())
        others = form.get("additionalProperties", True)
        kept: dict[str, Any] = {}
        for key, item in value.items():
            schema = known.get(key, others)
            found = self.value(item, schema, depth + 1)
            may_be_left_out = key in known and key not in required
            if may_be_left_out and _is_null(found) and not self._fits(found, schema):
                continue
            kept[key] = found
        return kept

    def _listed(self, value: Any, forms: Sequence[Schema], depth: int) -> Any:
        """Wrap a single value if a list of such values is required."""
        is_broken = isinstance(value, str) and value.lstrip().startswith(_BEGINS_COMPOUND)
        if value in (None, "") or is_broken:
            return value
        for form in forms:
            if "array" in _types(form) and "items" in form:
                item = self.value(value, form["items"], depth + 1)
                if self._fits(item, form["items"]):
                    return [item]
        return value

    def _fits(self, value: Any, schema: Any) -> bool:
        return any(_allows(form, value) for form in self._forms(schema, 0))

    def _forms(self, schema: Any, hops: int) -> Iterator[Schema]:
        """Yield the forms that `schema` allows, with references resolved."""
        if not isinstance(schema, Mapping) or hops > _MAX_DEPTH:
            return
        reference = schema.get("$ref")
        if reference is not None:
            yield from self._forms(self._referred(reference), hops + 1)
            return
        parts = schema.get("allOf")
        if parts:
            yield self._joined(schema, parts, hops)
            return
        choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        for choice in choices[:_MAX_FORMS]:
            yield from self._forms(choice, hops + 1)
        if not choices:
            yield schema

    def _joined(self, schema: Schema, parts: Sequence[Any], hops: int) -> Schema:
        """Merge all `parts` into one form; of a part with several forms, the first."""
        joined = {key: item for key, item in schema.items() if key != "allOf"}
        for part in parts[:_MAX_FORMS]:
            form = next(iter(self._forms(part, hops + 1)), {})
            named = {**form.get("properties", {}), **joined.get("properties", {})}
            required = [*form.get("required", ()), *joined.get("required", ())]
            joined = {**form, **joined}
            if named:
                joined |= {"properties": named, "required": required}
        return joined

    def _referred(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        node: Any = self._root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            node = node.get(name) if isinstance(node, Mapping) else None
        return node


def _best(value: dict[str, Any], forms: Sequence[Schema]) -> Schema:
    """Return the object form that matches its constant fields, then its required ones."""
    said = [form for form in forms if _holds_fixed(value, form)] or forms
    whole = [form for form in said if value.keys() >= set(form.get("required", ()))]
    return (whole or said)[0]


def _holds_fixed(value: dict[str, Any], form: Schema) -> bool:
    named = form.get("properties", {})
    fixed = {
        key: schema["const"]
        for key, schema in named.items()
        if isinstance(schema, Mapping) and "const" in schema
    }
    return all(value[key] == const for key, const in fixed.items() if key in value)


def _allows(form: Schema, value: Any) -> bool:
    types = _types(form)
    kind = _type_of(value)
    return not types or kind in types or (kind == "integer" and "number" in types)


def _types(form: Schema) -> Sequence[str]:
    """Return the JSON types of a form; empty if it allows any."""
    named = form.get("type")
    if isinstance(named, str):
        return (named,)
    if isinstance(named, Sequence):
        return named
    choices = form.get("enum", [form["const"]] if "const" in form else [])
    if choices:
        return [_type_of(choice) for choice in choices]
    return ("object",) if "properties" in form else ("array",) if "items" in form else ()


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _is_null(value: Any) -> bool:
    """Return whether a value is empty where no text is expected."""
    if isinstance(value, str):
        return not value.strip() or _WORDS.get(value.strip().lower(), ...) is None
    return value is None


def _readings(value: Any) -> Iterator[Any]:
    """Yield other possible readings of a value."""
    if isinstance(value, str):
        for reading in _parsed(value.strip()):
            yield reading
            yield from _readings(reading)
    elif isinstance(value, float) and abs(value) <= _LARGEST_EXACT and value.is_integer():
        yield int(value)


def _parsed(text: str) -> Iterator[Any]:
    if text.lower() in _WORDS:
        yield _WORDS[text.lower()]
    elif text[:1] in _BEGINS_JSON:
        try:
            yield orjson.loads(text)
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            yield from _literal(text)


def _literal(text: str) -> Iterator[Any]:
    """Parse a list or an object in Python notation, with single quotes."""
    if not text.startswith(_BEGINS_COMPOUND) or len(text) > _MAX_LITERAL:
        return
    try:
        value = ast.literal_eval(text)
        orjson.dumps(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return
    yield value
