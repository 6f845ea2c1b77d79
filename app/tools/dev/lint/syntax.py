"""Syntax checks of data files, without building the data.

No input can trigger expansion: YAML is parsed as events, so no alias is followed; XML with a
document type is refused, so there are no entities.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol
from xml.parsers import expat

import re2

from app.tools.dev.lint.findings import LintFinding
from app.tools.dev.lint.selection import Linter

MAX_BYTES = 1 << 20
_MAX_DEPTH = 200
# The standard library takes quadratic time for dotted keys.
_LONG_KEY = re2.compile(rb"""(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")


class Mark(Protocol):
    """Position in YAML, from 0; the two loaders have separate classes."""

    line: int
    column: int


Problem = tuple[int, int, str]
"""Line, column (both from 1), message."""


def check_syntax(linter: Linter, path: str, data: bytes) -> list[LintFinding]:
    """Return the first mistake of a data file; empty if it is well-formed."""
    try:
        problem = next(_CHECKS[linter](data), None)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = line, 1, f"not UTF-8: byte {data[error.start]:#04x}"
    except RecursionError:
        problem = 1, 1, "nested too deeply to check"
    if problem is None:
        return []
    line, column, message = problem
    return [LintFinding(path, line, column, "syntax", "error", message, linter)]


def _json(data: bytes) -> Iterator[Problem]:
    text = data.decode()

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        # Numbers are not built: one of a million digits takes very long.
        json.loads(text, parse_int=len, parse_float=len, parse_constant=refuse)
    except json.JSONDecodeError as error:
        yield error.lineno, error.colno, error.msg
    except ValueError as error:
        yield 1, 1, str(error)


def _yaml(data: bytes) -> Iterator[Problem]:
    import yaml

    text = data.decode("utf-8-sig")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                yield *_at(event.start_mark), "nested too deeply"
                return
    except yaml.MarkedYAMLError as error:
        message = " ".join(filter(None, (error.problem, error.context))) or "not YAML"
        yield *_at(error.problem_mark or error.context_mark), message
    except yaml.YAMLError as error:
        yield 1, 1, " ".join(str(error).split())


def _at(mark: Mark | None) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _toml(data: bytes) -> Iterator[Problem]:
    text = data.decode()
    if long_key := _LONG_KEY.search(data):
        line = data.count(b"\n", 0, long_key.start()) + 1
        yield line, 1, "a key with too many parts to check"
        return
    try:
        tomllib.loads(text, parse_float=len)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        line, column = _toml_place(place, text)
        yield line, column, message
    except ValueError as error:
        yield 1, 1, str(error)


def _toml_place(place: str, text: str) -> tuple[int, int]:
    words = place.removesuffix(")").replace(",", "").split()
    if len(words) == 4 and words[1].isdigit() and words[3].isdigit():
        return int(words[1]), int(words[3])
    return text.count("\n") + 1, 1


def _xml(data: bytes) -> Iterator[Problem]:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        raise ValueError("it has a document type (DOCTYPE), which is not supported; remove it")

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        yield error.lineno, error.offset + 1, expat.ErrorString(error.code)
    except ValueError as error:
        yield parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, str(error)


_CHECKS: dict[Linter, Callable[[bytes], Iterator[Problem]]] = {
    "json": _json,
    "yaml": _yaml,
    "toml": _toml,
    "xml": _xml,
}
