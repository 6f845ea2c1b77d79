"""Result of code: its value, the exception, the report to the service."""

from __future__ import annotations

import json
import linecache
import os
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from app.operations.sandbox.jail.python.check import FILENAME

MAX_VALUE = 20_000
MAX_ERROR = 2_000
MAX_TRACE = 60_000
_FAILED = 1


@dataclass
class Outcome:
    """Reported result: `value` as text, `error` in one line, the exit `status`."""

    value: str | None = None
    error: str | None = None
    status: int = 0

    def report(self, descriptor: int | None) -> None:
        """Write it to the service, whether or not the service still reads."""
        if descriptor is None:
            return
        data = json.dumps({"value": self.value, "error": self.error}).encode()
        with suppress(OSError):
            while data:
                data = data[os.write(descriptor, data) :]
            os.close(descriptor)


class Caught:
    """Catches any exception of the block in `error`."""

    error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return True


def shown(value: object) -> str | None:
    """Return the text of a value, as the interpreter would show it; None for None."""
    return None if value is None else bounded(repr(value), MAX_VALUE)


def bounded(text: str, limit: int) -> str:
    """Return the beginning of `text`, at most `limit` characters and a note."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} characters left out]"


def remember_source(code: str) -> None:
    """Register the code for tracebacks, because it is not in a file."""
    linecache.cache[FILENAME] = (len(code), None, code.splitlines(keepends=True), FILENAME)


def ended_by(error: BaseException) -> tuple[Outcome, str]:
    """Return the outcome of an uncaught exception, and the text for standard error."""
    if isinstance(error, SystemExit):
        return _exited(error)
    caught = Caught()
    line, trace = type(error).__name__, ""
    with caught:
        traced = traceback.TracebackException.from_exception(error, compact=True)
        for part in _linked(traced):
            part.stack[:] = [frame for frame in part.stack if frame.filename == FILENAME]
        trace = "".join(traced.format())
        line = next(iter("".join(traced.format_exception_only()).splitlines()[-1:]), line)
    if caught.error is not None:
        trace = f"{line}\n"
    return Outcome(error=bounded(line, MAX_ERROR), status=_FAILED), bounded(trace, MAX_TRACE)


def _exited(error: SystemExit) -> tuple[Outcome, str]:
    """Handle `SystemExit` like the interpreter: a number is the status, a text is an error."""
    code = error.code
    if code is None:
        return Outcome(), ""
    if isinstance(code, int):
        status = code & 0xFF
        return Outcome(error=f"SystemExit: {code}" if status else None, status=status), ""
    caught = Caught()
    text = type(code).__name__
    with caught:
        text = str(code)
    line = bounded(f"SystemExit: {text}", MAX_ERROR)
    return Outcome(error=line, status=_FAILED), bounded(text, MAX_TRACE) + "\n"


def _linked(
    traced: traceback.TracebackException,
) -> Iterator[traceback.TracebackException]:
    """Yield an exception with its causes, contexts and members of a group."""
    waiting, seen = [traced], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        links = (part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ()))
        waiting += [link for link in links if link is not None]
