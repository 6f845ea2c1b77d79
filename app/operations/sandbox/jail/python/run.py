"""Execution of code: the last step, called in the confined process."""

from __future__ import annotations
import __future__

import ast
import atexit
import io
import os
import random
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from app.operations.sandbox.jail.python.check import (
    FILENAME,
    CodeRefusal,
    examine,
    parse,
    refused_syntax,
)
from app.operations.sandbox.jail.python.namespace import main_module
from app.operations.sandbox.jail.python.outcome import (
    Caught,
    Outcome,
    ended_by,
    remember_source,
    shown,
)
from app.operations.sandbox.jail.python.preload import preload

__all__ = ["preload", "run"]

_REFUSED = 2
_FEATURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})

MAX_FIGURES = 20


def run(work_code: str, level: str, modules: frozenset[str], report_fd: int | None) -> int:
    """Run `work_code` at `level`, report its result, and return the exit status.

    Args:
        modules: allowed modules in addition to the level's own; see `add_packages`.
        report_fd: descriptor for `{"value", "error"}` as JSON, closed afterwards.
    """
    own = os.getpid()
    sys.argv = [FILENAME]
    _open_streams()
    # A forked process would continue with the random numbers of its parent.
    random.seed()
    if level == "lenient":
        with suppress(OSError):
            sys.path.insert(0, str(Path.cwd()))
        os.environ.setdefault("MPLBACKEND", "Agg")
        if report_fd is not None:
            os.set_inheritable(report_fd, False)
    outcome = _run(work_code, level, modules)
    # Code that forked itself arrives here twice.
    outcome.report(report_fd if os.getpid() == own else None)
    return outcome.status


def _run(code: str, level: str, modules: frozenset[str]) -> Outcome:
    tree = parse(code)
    if isinstance(tree, CodeRefusal):
        return _refused(tree)
    if (refusal := examine(tree, level, modules)) is not None:
        return _refused(refusal)
    remember_source(code)
    caught = Caught()
    outcome = Outcome()
    try:
        body, last = _compiled(tree)
    except SyntaxError as error:
        return _refused(refused_syntax(error, code))
    except (RecursionError, MemoryError, ValueError):
        return _refused(CodeRefusal("code_too_complex", "The code is nested too deeply to be run"))
    main = main_module(level, modules)
    with caught:
        outcome.value = _execute(body, last, main)
    if isinstance(caught.error, MemoryError):
        # Reporting it takes memory too.
        traceback.clear_frames(caught.error.__traceback__)
        vars(main).clear()
    if caught.error is not None:
        outcome = _failed(caught.error)
    ending = Caught()
    with ending:
        _finish(level)
    if ending.error is not None:
        _failed(ending.error)
    _flush()
    return outcome


def _compiled(tree: ast.Module) -> tuple[CodeType, CodeType | None]:
    """Return the program, and separately its last expression, whose value is shown."""
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    body = compile(tree, FILENAME, "exec", dont_inherit=True)
    if last is None:
        return body, None
    flags = body.co_flags & _FEATURES
    return body, compile(last, FILENAME, "eval", flags=flags, dont_inherit=True)


def _execute(body: CodeType, last: CodeType | None, module: ModuleType) -> str | None:
    names = vars(module)
    exec(body, names)  # noqa: S102 - this is what it is for
    if last is None:
        return None
    value: Any = eval(last, names)  # noqa: S307
    return shown(value)


def _finish(level: str) -> None:
    """Run the interpreter's cleanup; the process is unusable afterwards."""
    if level == "lenient":
        threading._shutdown()  # type: ignore[attr-defined] # threads end their work
        save_figures()
        atexit._run_exitfuncs()


def _refused(refusal: CodeRefusal) -> Outcome:
    _tell(f"{refusal.message}\n")
    return Outcome(error=refusal.message, status=_REFUSED)


def _failed(error: BaseException) -> Outcome:
    outcome, text = ended_by(error)
    _tell(text)
    return outcome


def _tell(text: str) -> None:
    """Write to standard error, after printed output."""
    _flush()
    with Caught():
        sys.stderr.write(text)
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with Caught():
            if stream is not None:
                stream.flush()


def _open_streams() -> None:
    """Open fresh streams on this process's descriptors, line-buffered."""
    sys.stdout = sys.__stdout__ = _writer(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _writer(2)  # type: ignore[misc]
    with suppress(OSError):
        reader = io.BufferedReader(io.FileIO(0, "r", closefd=False))
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(reader, encoding="utf-8")  # type: ignore[misc]


def _writer(descriptor: int) -> io.TextIOWrapper[Any]:
    raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def save_figures() -> list[str]:
    """Save matplotlib's open figures into the working folder; return the file names."""
    plots: Any = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    saved = []
    for number in list(plots.get_fignums())[:MAX_FIGURES]:
        name = _free_figure_name(number)
        plots.figure(number).savefig(name)
        saved.append(name)
    return saved


def _free_figure_name(number: int) -> str:
    """Return `figure_1.png`, or a similar name if the code has used it."""
    name, tries = f"figure_{number}.png", 1
    while Path(name).exists():
        tries += 1
        name = f"figure_{number}_{tries}.png"
    return name
