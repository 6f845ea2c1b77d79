"""`text_process`: counts, changes, searches, compares and encodes a text."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.clock import Clock
from app.core.field_problems import FieldError
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.data import text_patterns
from app.tools.data.returns import TEXT_PROCESS_RESULT
from app.tools.data.services import clock_of
from app.tools.data.text_operations import SIMPLE, dedupe_lines, replace, shorten, sort_lines
from app.tools.files.diff import unified_diff

_MAX_TEXT = 1_000_000
_SHORT = 20_000
_DEFAULT_MATCHES = 100
_ALWAYS_AWAY = frozenset({"diff", "regex_extract", "regex_replace"})

Operation = Literal[
    "count",
    "lines",
    "words",
    "upper",
    "lower",
    "reverse",
    "trim",
    "dedupe_lines",
    "sort_lines",
    "replace",
    "regex_extract",
    "regex_replace",
    "slug",
    "truncate",
    "diff",
    "hash",
    "base64_encode",
    "base64_decode",
    "url_encode",
    "url_decode",
]
_NEEDS: dict[str, str] = {
    "replace": "pattern",
    "regex_extract": "pattern",
    "regex_replace": "pattern",
    "truncate": "limit",
    "diff": "other",
}


class TextProcessArgs(ToolArgs):
    text: str = Field(max_length=_MAX_TEXT, description="Text to process.")
    operation: Operation = Field(description="Operation to run.")
    pattern: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="replace: plain text. regex_*: expression in RE2 syntax.",
    )
    replacement: str = Field(
        default="",
        max_length=100_000,
        description=r"replace, regex_replace: the new text; \1 and \g<name> are groups.",
    )
    other: str | None = Field(
        default=None, max_length=_MAX_TEXT, description="diff: the newer text."
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        le=_MAX_TEXT,
        description="truncate: characters to keep. regex_extract: maximum (100).",
    )
    ignore_case: bool = Field(default=False, description="For lines and regex_*.")
    descending: bool = Field(default=False, description="sort_lines: reverse order.")

    @model_validator(mode="after")
    def _complete(self) -> TextProcessArgs:
        needed = _NEEDS.get(self.operation)
        if needed is not None and getattr(self, needed) is None:
            raise FieldError(
                f"operation {self.operation} requires {needed}",
                code="needs",
                given=self.operation,
                needed=needed,
            )
        return self


@tool(
    category="data",
    toolset="data",
    cacheable=True,
    tags=("text",),
    argument_aliases={"action": "operation", "regex": "pattern", "search": "pattern"},
    return_schema=TEXT_PROCESS_RESULT,
)
async def text_process(args: TextProcessArgs, ctx: ToolContext) -> ToolResult:
    """Count, change, compare or encode a text exactly; prefer it over doing so yourself.

    count, lines and words return numbers; regex_extract the matches with positions; diff a unified
    diff; hash the SHA-256; all others the new text as result.
    """
    clock = clock_of(ctx)
    # A long expression takes half a second to compile.
    away = args.operation in _ALWAYS_AWAY
    if not away and len(args.text) + len(args.other or "") <= _SHORT:
        return _process(args, clock)
    return await asyncio.to_thread(_process, args, clock)


def _process(args: TextProcessArgs, clock: Clock) -> ToolResult:
    if args.operation == "diff":
        return _diff(args.text, args.other or "")
    data = _data(args, clock)
    if len(data) == 1 or "result" in data:
        shown = data.get("result", next(iter(data.values())))
        if isinstance(shown, str) and len(shown) > text_patterns.MAX_RESULT:
            raise text_patterns.too_large()
        return ToolResult.ok(data, text=str(shown))
    return ToolResult.ok(data)


def _data(args: TextProcessArgs, clock: Clock) -> dict[str, Any]:
    text, pattern = args.text, args.pattern or ""
    simple = SIMPLE.get(args.operation)
    if simple is not None:
        return simple(text)
    match args.operation:
        case "dedupe_lines":
            return dedupe_lines(text, ignore_case=args.ignore_case)
        case "sort_lines":
            return sort_lines(text, ignore_case=args.ignore_case, descending=args.descending)
        case "truncate":
            return shorten(text, args.limit or 1)
        case "replace":
            return replace(text, pattern, args.replacement)
        case "regex_replace":
            return _regex_replace(args, clock)
        case _:
            return _regex_extract(args, clock)


def _regex_replace(args: TextProcessArgs, clock: Clock) -> dict[str, Any]:
    result, count = text_patterns.substitute(
        args.pattern or "",
        args.text,
        args.replacement,
        ignore_case=args.ignore_case,
        monotonic=clock.monotonic,
    )
    return {"result": result, "replaced": count}


def _regex_extract(args: TextProcessArgs, clock: Clock) -> dict[str, Any]:
    found, more = text_patterns.extract(
        args.pattern or "",
        args.text,
        ignore_case=args.ignore_case,
        limit=args.limit or _DEFAULT_MATCHES,
        monotonic=clock.monotonic,
    )
    return {
        "matches": [match.to_data() for match in found],
        "total": len(found),
        "truncated": more,
    }


def _diff(before: str, after: str) -> ToolResult:
    diff = unified_diff("text", before, after)
    data = {
        "result": diff.text,
        "equal": before == after,
        "added": diff.added,
        "removed": diff.removed,
        "truncated": diff.truncated,
    }
    return ToolResult.ok(
        data, text=diff.text or "The texts are equal.", raw_result=diff.raw_result()
    )
