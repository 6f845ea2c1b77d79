"""Log output of the service, as text lines or one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

from app.core.error_boundary import try_call

MOST_LINES = 10_000
_LAST_LINES_S = 2.0
_COLOURS = {
    logging.DEBUG: "\x1b[32m",
    logging.INFO: "\x1b[32m",
    logging.WARNING: "\x1b[33m",
    logging.ERROR: "\x1b[31m",
    logging.CRITICAL: "\x1b[31;1m",
}
_PLAIN = "\x1b[0m"


class LogLineHandler(logging.Handler):
    """Writes lines in its own thread, so that a slow reader blocks nothing else.

    A limited number of lines waits while output is blocked; further lines are dropped and counted.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        # Bypasses the stream, whose lock a blocked write would hold until the end.
        self._descriptor = stream.fileno()
        self._lines: queue.Queue[str] = queue.Queue(MOST_LINES)
        self._left_out = 0
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        line, error = try_call(self.format, record)
        if line is None:
            line = f"cannot write a line of {record.name}: {error!r}"
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._left_out += 1

    def flush(self) -> None:
        """Wait briefly until the lines are written."""
        done = self._lines.all_tasks_done
        with done:
            done.wait_for(lambda: not self._lines.unfinished_tasks, _LAST_LINES_S)

    def _run(self) -> None:
        while True:
            self._write(self._lines.get())
            if self._left_out and self._lines.empty():
                left_out, self._left_out = self._left_out, 0
                fields = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING"}
                said = {
                    "msg": "%d lines were dropped: the reader was too slow",
                    "args": (left_out,),
                }
                self._write(self.format(logging.makeLogRecord(fields | said)))
            self._lines.task_done()

    def _write(self, line: str) -> None:
        # A full disk, or a closed reader, must not end the service.
        try_call(self._put, f"{line}\n".encode("utf-8", "backslashreplace"))

    def _put(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


class LinesForPeople(logging.Formatter):
    """Format time in UTC, level, message and logger, then the traceback without variables.

    Args:
        mask: Returns a line with secrets masked.
        coloured: Colour the level, for a terminal.
    """

    def __init__(self, mask: Callable[[str], str], *, coloured: bool) -> None:
        super().__init__()
        self._mask = mask
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower():9}"
        if self._coloured:
            level = f"{_COLOURS.get(record.levelno, '')}{level}{_PLAIN}"
        line = f"{_time(record)} [{level}] {record.getMessage():30} [{record.name}]"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return self._mask(line)


class JsonLines(logging.Formatter):
    """Format one JSON object per line: `event`, `level`, `logger`, `timestamp`, and maybe
    `exception`.

    Args:
        mask: Returns a line with secrets masked.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__()
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": _time(record),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return self._mask(json.dumps(fields))


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"
