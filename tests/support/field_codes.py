"""All codes of invalid fields: those of models, and our own.

Pydantic's types are read from the core schemas; an unknown kind of schema is an error, so that no
new one is missed. Our own codes are read from the sources.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel, TypeAdapter

from app.api.routes import every_route
from app.api.ws.commands import client_command
from app.api.ws.desktop_commands import _command as operator_command
from app.catalog import json_schema
from app.catalog.builtin import register_all_tools
from app.channels.config import ChannelConfig
from app.policy.rules.definition import RuleDefinition
from app.toolkit.tool import _arguments_model

Node = dict[str, Any]

_PARAMETERS = ("path_params", "query_params", "header_params", "cookie_params", "body_params")
_SIMPLE = {
    "any": (),
    "bool": ("bool_type",),
    "dataclass": ("dataclass_type",),
    "date": ("date_type", "date_parsing"),
    "datetime": ("datetime_type", "datetime_parsing"),
    "dict": ("dict_type",),
    "float": ("float_type",),
    "function-after": ("value_error",),
    "function-before": ("value_error",),
    "function-plain": ("value_error",),
    "int": ("int_type",),
    "list": ("list_type",),
    "literal": ("literal_error",),
    "str": ("string_type",),
    "tagged-union": ("union_tag_invalid", "union_tag_not_found"),
    "tuple": ("tuple_type",),
    **dict.fromkeys(("default", "nullable", "union", "definitions", "definition-ref"), ()),
    **dict.fromkeys(("model-field", "dataclass-field", "no-info", "with-info"), ()),
    **dict.fromkeys(("model", "model-fields", "dataclass-args"), ()),
}
# Additional types of a text in a query.
_LAX = {
    "bool": ("bool_parsing",),
    "date": ("date_from_datetime_parsing", "date_from_datetime_inexact"),
    "datetime": ("datetime_from_date_parsing",),
    "float": ("float_parsing",),
    "int": ("int_parsing", "int_parsing_size", "int_from_float"),
}
_LIMITS = {
    "ge": "greater_than_equal",
    "gt": "greater_than",
    "le": "less_than_equal",
    "lt": "less_than",
    "multiple_of": "multiple_of",
    "pattern": "string_pattern_mismatch",
    "tz_constraint": "timezone_aware",
}
# Schema keywords without codes of argument models.
KEYWORDS = frozenset(
    {
        *("contains", "minContains", "maxContains", "dependentRequired", "not", "items"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_NOT_CHECKED = (
    *("metadata", "serialization", "config", "cls", "json_schema_input_schema"),
    "computed_fields",
)
_WRAPPERS = ("AfterValidator", "BeforeValidator", "PlainValidator", "WrapValidator")
_MAKERS = ("problem", "about_field", "FieldError")
# Places where codes come from tables, parsed as such, or are passed on; one of these dictionaries
# is an example of the docs, and one is a linter's finding.
PASSED_ON = {
    "app/catalog/json_schema.py",
    "app/core/field_problems.py",
    "app/api/errors.py",
    "app/tools/dev/lint/findings.py",
}


def pydantic_types() -> set[str]:
    """Return the error types of requests, messages, definitions and arguments."""
    tools = register_all_tools(installed_plugins=False).snapshot().tools.values()
    arguments = [_arguments_model(tool.function) for tool in tools]
    models: list[type[BaseModel]] = [RuleDefinition, ChannelConfig, *arguments]
    schemas: list[Any] = [client_command.core_schema, operator_command.core_schema]
    schemas += [model.__pydantic_core_schema__ for model in models]
    found = {"json_invalid"}
    for schema in schemas:
        assert isinstance(schema, dict), schema
        found |= _types(schema, strict=True)
    for route in every_route():
        for field in _fields(getattr(route, "dependant", None)):
            found |= {"missing"} | _types(_schema_of(field._type_adapter), strict=False)
            found |= {"model_attributes_type"}
    return found


def _schema_of(adapter: TypeAdapter[Any]) -> Node:
    """Return a field's schema; FastAPI builds those of bodies on first use."""
    adapter.rebuild(raise_errors=True)
    schema: Any = adapter.core_schema
    assert isinstance(schema, dict), schema
    return schema


def own_codes(root: Path) -> tuple[set[str], set[str]]:
    """Return the codes in the sources below `app`, and the files with a non-literal one."""
    found = {code for _, code in json_schema._KEYWORDS.values()}
    found |= {*json_schema._TYPE_CODES.values(), "union_error", json_schema.FALSE_SCHEMA}
    unclear: set[str] = set()
    for path in (root / "app").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # Parsing all of them takes seconds.
        if not re.search(rf"\bcode\b|{'|'.join(_MAKERS)}", text):
            continue
        for code in _named(ast.parse(text)):
            if code is None:
                unclear.add(path.relative_to(root).as_posix())
            else:
                found.add(code)
    return found | KEYWORDS, unclear


def _named(tree: ast.Module) -> Iterator[str | None]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if {"path", "message", "code"} <= keys:
                yield None
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _MAKERS:
            given = [word.value for word in node.keywords if word.arg == "code"] or node.args[2:3]
            for value in given:
                text = value.value if isinstance(value, ast.Constant) else None
                yield text if isinstance(text, str) else None


def misfits(root: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield the code of each refusal of a validator, with the names of its values."""
    for path in (root / "app").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "FieldError" in text else ():
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "FieldError":
                given = {word.arg: word.value for word in call.keywords if word.arg is not None}
                code = given.pop("code")
                assert isinstance(code, ast.Constant)
                yield str(code.value), set(given)


def plain_refusals(root: Path) -> Iterator[str]:
    """Yield validators of requests or arguments that raise without a code."""
    for path in (root / "app").rglob("*.py"):
        name = path.relative_to(root).as_posix()
        if name.startswith(("app/core/", "app/config/")):
            continue  # settings are not requests
        text = path.read_text(encoding="utf-8")
        if not re.search("ValueError|AssertionError", text):
            continue
        tree = ast.parse(text)
        wrapped = {
            argument.id
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in _WRAPPERS
            for argument in call.args
            if isinstance(argument, ast.Name)
        }
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and (
                function.name in wrapped or "_validator" in _decorators(function)
            ):
                yield from (
                    f"{name}:{node.lineno}"
                    for node in ast.walk(function)
                    if isinstance(node, ast.Raise)
                    and isinstance(node.exc, ast.Call)
                    and getattr(node.exc.func, "id", "") in ("ValueError", "AssertionError")
                )


def _decorators(function: ast.FunctionDef) -> str:
    return " ".join(map(ast.unparse, function.decorator_list))


def _fields(dependant: Dependant | None) -> Iterator[Any]:
    if dependant is not None:
        for name in _PARAMETERS:
            yield from getattr(dependant, name)
        for one in dependant.dependencies:
            yield from _fields(one)


def _types(node: Any, *, strict: bool) -> set[str]:
    if isinstance(node, list | tuple):
        return {kind for item in node for kind in _types(item, strict=strict)}
    if not isinstance(node, dict):
        return set()
    strict = _is_strict(node, strict=strict)
    if node.get("type") == "lax-or-strict":
        return _types(node["strict_schema" if strict else "lax_schema"], strict=strict)
    if node.get("type") == "json-or-python":  # what comes over the wire
        return _types(node["json_schema"], strict=strict)
    found = _own(node, strict=strict) if isinstance(node.get("type"), str) else set()
    for key, item in node.items():
        if key not in _NOT_CHECKED:
            found |= _types(item, strict=strict)
    return found


def _is_strict(node: Node, *, strict: bool) -> bool:
    config = node.get("config") or {}
    return bool(node.get("strict", config.get("strict", strict)))


def _own(node: Node, *, strict: bool) -> set[str]:
    """Return the errors of a part itself."""
    kind = node["type"]
    found = {*_SIMPLE[kind], *(() if strict else _LAX.get(kind, ()))}
    found |= {code for name, code in _LIMITS.items() if node.get(name) is not None}
    sized = "string" if kind == "str" else "too"
    for name, way in (("min_length", "short"), ("max_length", "long")):
        if node.get(name) is not None:
            found.add(f"string_too_{way}" if sized == "string" else f"too_{way}")
    if kind == "model":
        found.add("model_type")
        if (node.get("config") or {}).get("extra_fields_behavior") == "forbid":
            found.add("extra_forbidden")
    if kind == "model-fields" and any(
        field["schema"]["type"] != "default" for field in node["fields"].values()
    ):
        found.add("missing")
    return found
