"""Reading of a process's output: unread part, page, or first match."""

from __future__ import annotations

import asyncio

import re2

from app.core.errors import ToolFailed
from app.tools.shell.ports import SessionProcess

UNREAD_BYTES = 10_000
_STEP = 16 << 10
_OVERLAP = 4 << 10
_MAX_LINE = 500


async def unread(process: SessionProcess) -> str:
    """Return the unread output, shortened in the middle, and mark it as read."""
    start, size = process.seen, process.size
    if size - start <= UNREAD_BYTES:
        page = await process.read(start, max(4, size - start))
        process.seen = page.end
        return page.text
    half = UNREAD_BYTES // 2
    head = await process.read(start, half)
    tail = await process.read(size - half, half)
    process.seen = tail.end
    left_out = tail.start - head.end
    note = f"… [{left_out} bytes omitted; read them with action log, offset {head.end}] …"
    return f"{head.text}\n{note}\n{tail.text}"


def compiled(pattern: str) -> re2._Regexp:
    """Compile a pattern, with `^` and `$` at lines.

    Raises:
        ToolFailed: code `invalid_pattern`.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(f"(?m:{pattern})", options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ToolFailed(
            f"pattern is not a valid RE2 regular expression: {reason}", code="invalid_pattern"
        ) from None


async def until_match(process: SessionProcess, pattern: re2._Regexp) -> str | None:
    """Return the first unread or future line that matches; None if the process ends before.

    A match that spans more than 4 KiB may be missed.
    """
    offset, carried = process.seen, ""
    while True:
        while offset < process.size:
            page = await process.read(offset, _STEP)
            if page.end <= offset:
                break
            offset, window = page.end, carried + page.text
            # In the worst case the engine takes seconds for this size.
            found = await asyncio.to_thread(pattern.search, window)
            if found is not None:
                return _line(window, found.start())
            carried = window[-_OVERLAP:]
            if len(window) > _OVERLAP:
                # `^` must not match at the position of a cut.
                carried = carried[carried.find("\n") + 1 :]
        if process.exit is not None:
            return None
        await process.news()


def _line(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[begin : len(text) if end < 0 else end][:_MAX_LINE]
