"""Problems of plugins for operators: what, where in the files, and the fix."""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import app
from app.catalog.catalog import PluginProblem
from app.catalog.errors import DuplicateTool, EmptyPlugin
from app.catalog.failures import code_of
from app.core.errors import TollgateError
from app.core.guarded_import import TookTooLong
from app.core.text import clean, truncate
from app.toolkit.tool import Tool

_ERROR_CHARS = 2000
_OURS = f"{Path(app.__file__).parent}{os.sep}"
_LISTS = re.compile(r"^(?:TOOLS|HOOKS)\b", re.MULTILINE)
_ELSEWHERE = "Correct the error it raises, or move the file out of the plugin folder"


def problem_of(
    name: str, where: str, error: BaseException, file: Path | None, *, brings_hooks: bool
) -> PluginProblem:
    """Describe `error`, raised while the plugin was loaded, for an operator."""
    return PluginProblem(
        name=clean(name),
        where=clean(where),
        error=one_line(error),
        code=code_of(error),
        brings_hooks=brings_hooks,
        at=clean(_place_of(error, file)),
        fix=truncate(clean(_fix_of(error)), _ERROR_CHARS),
    )


def one_line(error: BaseException) -> str:
    """Return the error as one line; handles exceptions that cannot be converted to text."""
    if isinstance(error, TollgateError) and isinstance(error.message, str):
        text = error.message
    else:
        report = traceback.TracebackException.from_exception(error)
        text = "".join(report.format_exception_only())
    return truncate(clean(" ".join(text.split())), _ERROR_CHARS)


@contextmanager
def located(tool: object) -> Iterator[None]:
    """Add the tool's location to errors raised inside."""
    try:
        yield
    except TollgateError as error:
        if isinstance(tool, Tool):
            error.details.setdefault("at", defined_at(tool))
        raise


def defined_at(tool: Tool) -> str:
    """Return `file:line` of the tool's function, or an empty text."""
    function: Any = tool.function
    # Tools from a handler run through a method of ours.
    handler = getattr(getattr(function, "__self__", None), "handler", function)
    try:
        code = getattr(inspect.unwrap(handler), "__code__", None)
    except ValueError:
        return ""
    if code is None or code.co_filename.startswith(_OURS):
        return ""
    return f"{code.co_filename}:{code.co_firstlineno}"


def _place_of(error: BaseException, file: Path | None) -> str:
    """Return `file:line` of the error in the plugin's own files, or an empty text."""
    if isinstance(error, TollgateError) and error.details.get("at"):
        return str(error.details["at"])
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    return _innermost(error.__traceback__, file) or _listed_at(file)


def _innermost(trace: TracebackType | None, file: Path | None) -> str:
    found = ""
    root = str(file.parent if file and file.name == "__init__.py" else file or "")
    for frame, line in traceback.walk_tb(trace):
        name = frame.f_code.co_filename
        is_theirs = name.startswith(root) if root else not name.startswith((_OURS, "<frozen"))
        if is_theirs and not (not root and "importlib" in name):
            found = f"{name}:{line}"
    return found


def _listed_at(file: Path | None) -> str:
    """Return where a file lists its tools or hooks, for problems without a traceback there."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    except OSError:
        return ""
    match = _LISTS.search(text)
    return f"{file}:{text.count(chr(10), 0, match.start()) + 1}" if match else ""


def _fix_of(error: BaseException) -> str:
    if isinstance(error, TollgateError) and isinstance(error.details.get("fix"), str):
        return str(error.details["fix"])
    if isinstance(error, DuplicateTool):
        return "Choose another name, or register it with `replace=True` to replace the other one"
    if isinstance(error, EmptyPlugin):
        return "Define TOOLS or HOOKS; start the names of helper files with '_'"
    if isinstance(error, SyntaxError):
        return "Fix the syntax error"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _missing_module(error.name)
    if isinstance(error, TookTooLong):
        return "Do slow work when the tool is called, not when the file is imported"
    return _ELSEWHERE


def _missing_module(name: str) -> str:
    if name.partition(".")[0] == "app":
        return f"Module {name} does not exist; docs/adding-a-tool.md lists the modules for plugins"
    return (
        f"Install the package that provides {name} into the service's environment, then "
        "restart the service"
    )
