"""What the service logs, as lines: for people, or one JSON object each."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime

_COLOURS = {
    logging.DEBUG: "\x1b[32m",
    logging.INFO: "\x1b[32m",
    logging.WARNING: "\x1b[33m",
    logging.ERROR: "\x1b[31m",
    logging.CRITICAL: "\x1b[31;1m",
}
_PLAIN = "\x1b[0m"


class LinesForPeople(logging.Formatter):
    """Time in UTC, level, message, logger; below that the traceback, without variables.

    Args:
        mask: takes a whole line, and gives it back without our secrets.
        coloured: whether the level gets a colour: for a terminal.
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
    """One object a line: `event`, `level`, `logger`, `timestamp`, and maybe `exception`.

    Args:
        mask: takes a whole line, and gives it back without our secrets.
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
