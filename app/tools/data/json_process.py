"""`json_process`: parses, validates, queries, compares, changes and converts JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.data.json_changes import compare, merge
from app.tools.data.json_csv import from_csv, to_csv
from app.tools.data.json_pointer import get, put
from app.tools.data.json_text import MAX_DEPTH, depth_of, dump, parse
from app.tools.data.returns import JSON_PROCESS_RESULT

_MAX_TEXT = 1_000_000
_MAX_SCHEMA = 100_000
_SHORT = 5_000
_ALWAYS_AWAY = frozenset({"query", "schema_validate"})

Operation = Literal[
    "parse",
    "format",
    "keys",
    "validate",
    "query",
    "get",
    "set",
    "diff",
    "merge_patch",
    "schema_validate",
    "to_csv",
    "from_csv",
]
_NEEDS: dict[str, str] = {
    "query": "query",
    "get": "pointer",
    "set": "pointer",
    "diff": "other",
    "merge_patch": "other",
    "schema_validate": "other",
}


class JsonProcessArgs(ToolArgs):
    json_string: str = Field(max_length=_MAX_TEXT, description="JSON text; for from_csv, CSV text.")
    operation: Operation = Field(description="Operation to run.")
    query: str | None = Field(
        default=None, min_length=1, max_length=1000, description="query: a JMESPath expression."
    )
    pointer: str | None = Field(
        default=None,
        max_length=2000,
        description="get, set: JSON Pointer such as /items/0/name; /items/- appends.",
    )
    other: str | None = Field(
        default=None,
        max_length=_MAX_TEXT,
        description="JSON text. diff: the newer value; merge_patch: the patch; schema_validate: "
        "the JSON Schema; set: the value.",
    )
    delimiter: Literal[",", ";", "\t", "|"] = Field(default=",", description="For CSV.")
    guard_formulas: bool = Field(
        default=False, description="to_csv: prefix ' to cells that a spreadsheet would run."
    )

    @model_validator(mode="after")
    def _complete(self) -> JsonProcessArgs:
        needed = _NEEDS.get(self.operation)
        if needed is not None and getattr(self, needed) is None:
            raise FieldError(
                f"operation {self.operation} requires {needed}",
                code="needs",
                given=self.operation,
                needed=needed,
            )
        if self.operation == "set" and self.other is None:
            raise FieldError(
                "operation set requires other, the value as JSON text",
                code="needs",
                given="set",
                needed="other",
            )
        return self


@tool(
    category="data",
    toolset="data",
    cacheable=True,
    tags=("json", "csv"),
    argument_aliases={"json": "json_string", "action": "operation", "expression": "query"},
    return_schema=JSON_PROCESS_RESULT,
)
async def json_process(args: JsonProcessArgs, ctx: ToolContext) -> ToolResult:
    """Read, check, query, compare, change or convert JSON exactly.

    parse, query, get, set, merge_patch and from_csv return data; format and to_csv text;
    diff what was added, removed and changed; schema_validate every error with its path.
    """
    size = len(args.json_string) + len(args.other or "")
    if args.operation not in _ALWAYS_AWAY and size <= _SHORT:
        return _process(args)
    return await asyncio.to_thread(_process, args)


def _process(args: JsonProcessArgs) -> ToolResult:
    return _OPERATIONS[args.operation](args)


def _parse(args: JsonProcessArgs) -> ToolResult:
    return _value(parse(args.json_string))


def _format(args: JsonProcessArgs) -> ToolResult:
    text = dump(parse(args.json_string), indent=2)
    return ToolResult.ok({"result": text}, text=text)


def _keys(args: JsonProcessArgs) -> ToolResult:
    value = parse(args.json_string)
    if not isinstance(value, dict):
        raise ToolFailed("JSON root element is not an object", code="not_an_object")
    return ToolResult.ok({"keys": list(value)}, text=dump(list(value)))


def _validate(args: JsonProcessArgs) -> ToolResult:
    parse(args.json_string)
    return ToolResult.ok({"valid": True})


def _query(args: JsonProcessArgs) -> ToolResult:
    from app.tools.data.json_query import query

    return _value(query(parse(args.json_string), args.query or ""))


def _get(args: JsonProcessArgs) -> ToolResult:
    return _value(get(parse(args.json_string), args.pointer or ""))


def _set(args: JsonProcessArgs) -> ToolResult:
    return _value(put(parse(args.json_string), args.pointer or "", _other(args)))


def _diff(args: JsonProcessArgs) -> ToolResult:
    differences = compare(parse(args.json_string), _other(args))
    return _shown(differences.to_data(), differences.to_text())


def _merge_patch(args: JsonProcessArgs) -> ToolResult:
    return _value(merge(parse(args.json_string), _other(args)))


def _schema_validate(args: JsonProcessArgs) -> ToolResult:
    from app.tools.data.json_schema import check

    if len(args.other or "") > _MAX_SCHEMA:
        raise ToolFailed(
            f"other: a schema can have at most {_MAX_SCHEMA} characters", code="bad_schema"
        )
    report = check(parse(args.json_string), _other(args))
    lines = [f"{row['path'] or '(all)'}: {row['message']}" for row in report["errors"]]
    return _shown(report, "The value is valid." if report["valid"] else "\n".join(lines))


def _to_csv(args: JsonProcessArgs) -> ToolResult:
    value = parse(args.json_string)
    data = to_csv(value, delimiter=args.delimiter, guard_formulas=args.guard_formulas)
    note = ""
    if data["formula_cells"] and not args.guard_formulas:
        note = (
            f"\n({data['formula_cells']} cells would run as formulas in a spreadsheet;"
            " guard_formulas makes them text)"
        )
    return ToolResult.ok(data, text=data["result"] + note)


def _from_csv(args: JsonProcessArgs) -> ToolResult:
    data = from_csv(args.json_string, delimiter=args.delimiter)
    return _shown(data, dump(data["data"]))


def _other(args: JsonProcessArgs) -> Any:
    return parse(args.other or "", "other")


def _value(value: Any) -> ToolResult:
    if depth_of(value) > MAX_DEPTH:
        raise ToolFailed(f"The result is nested more than {MAX_DEPTH} levels deep", code="too_deep")
    return _shown({"data": value}, dump(value))


def _shown(data: dict[str, Any], text: str) -> ToolResult:
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


_OPERATIONS: Mapping[str, Callable[[JsonProcessArgs], ToolResult]] = MappingProxyType(
    {
        "parse": _parse,
        "format": _format,
        "keys": _keys,
        "validate": _validate,
        "query": _query,
        "get": _get,
        "set": _set,
        "diff": _diff,
        "merge_patch": _merge_patch,
        "schema_validate": _schema_validate,
        "to_csv": _to_csv,
        "from_csv": _from_csv,
    }
)
