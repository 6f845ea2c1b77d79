"""Log lines: what they show, and what they never show."""

from __future__ import annotations

import json
import logging

import pytest

from app.cli.log_lines import JsonLines, LinesForPeople

SECRET = "hunter2"


def mask(line: str) -> str:
    return line.replace(SECRET, "***")


def record(
    message: str, *details: object, failed: BaseException | None = None
) -> logging.LogRecord:
    exc_info = None if failed is None else (type(failed), failed, failed.__traceback__)
    made = logging.LogRecord("app.x", logging.WARNING, "x.py", 1, message, details, exc_info)
    made.created = 1_700_000_000.25
    return made


def failure() -> Exception:
    try:
        int(SECRET)
    except ValueError as error:
        return error
    raise AssertionError


def test_a_line_for_people_has_time_level_message_and_logger():
    line = LinesForPeople(mask, coloured=False).format(record("lost %s", SECRET))
    assert line.startswith("2023-11-14T22:13:20.250000Z [warning  ] lost *** ")
    assert line.endswith(" [app.x]")


def test_only_a_terminal_gets_colours():
    assert "\x1b[33mwarning" in LinesForPeople(mask, coloured=True).format(record("lost"))
    assert "\x1b" not in LinesForPeople(mask, coloured=False).format(record("lost"))


def test_a_json_line_is_one_object_whatever_the_message_holds():
    line = JsonLines(mask).format(record('two\nlines "%s"', SECRET))
    assert "\n" not in line
    assert json.loads(line) == {
        "event": 'two\nlines "***"',
        "level": "warning",
        "logger": "app.x",
        "timestamp": "2023-11-14T22:13:20.250000Z",
    }


@pytest.mark.parametrize("lines", [LinesForPeople(mask, coloured=False), JsonLines(mask)])
def test_a_failure_brings_its_traceback_without_secrets(lines: logging.Formatter):
    line = lines.format(record("broke", failed=failure()))
    assert "Traceback (most recent call last)" in line
    assert "ValueError: invalid literal for int() with base 10: '***'" in line
    assert SECRET not in line
