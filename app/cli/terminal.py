"""Safe output to a terminal, and reading lines from it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import termios
from contextlib import suppress

_MAX_LINE = 64 << 10
# Colors are allowed; sequences that move the cursor, rename the window or answer a query are not.
_ESCAPES = re.compile(
    r"\x1b\[[0-9;:]*m"
    r"|(?P<drop>\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?))"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
# Sequences sent by special keys: arrows, Home, F1, Alt with a letter, both ends of a paste.
_KEYS = re.compile(
    r"\x1b(?:\[\[?[0-?]*[ -/]*[@-~]|O[ -~]|[^\x1b]?)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
)


def is_terminal(stream: object) -> bool:
    """Return whether `stream` is a terminal; a closed one is not."""
    isatty = getattr(stream, "isatty", None)
    try:
        return bool(isatty and isatty())
    except ValueError:
        return False


def can_ask() -> bool:
    """Return whether the user can be prompted on standard error and answer on standard input."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def harmless(text: str) -> str:
    """Clean tool output for a terminal: keep colours, remove other control sequences."""
    text = _ESCAPES.sub(lambda match: "" if match["drop"] else match[0], text)
    return _CONTROLS.sub("", text)


def without_keys(line: str) -> str:
    """Return a typed line without the sequences of arrow and other keys."""
    return _KEYS.sub("", line)


def forget_typed(fd: int = 0) -> None:
    """Discard input typed before a question."""
    with suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)


async def read_line(fd: int = 0) -> str | None:
    """Read the next line of a terminal without its line ending; None at the end of input."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes | None] = loop.create_future()
    received = bytearray()

    def ready() -> None:
        if line.done():
            return
        try:
            data = os.read(fd, 4096)
        except OSError:
            data = b""
        received.extend(data)
        if not data:
            line.set_result(bytes(received) or None)
        elif b"\n" in data or len(received) > _MAX_LINE:
            line.set_result(bytes(received))

    loop.add_reader(fd, ready)
    try:
        answer = await line
    finally:
        loop.remove_reader(fd)
    return None if answer is None else without_keys(answer.decode("utf-8", "replace")).strip()
