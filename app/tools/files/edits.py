"""Changes of a text by content or line numbers; pure functions."""

from __future__ import annotations

from difflib import get_close_matches

from app.core.errors import ToolFailed
from app.tools.files.text import (
    count_lines,
    line_start,
    newline_of,
    split_lines,
    with_newlines,
)

# Part of a file searched for a hint: comparison takes quadratic time per line.
_SEARCHED = 1 << 20
_COMPARED_LINES = 1000
_SHOWN = 80


def replace_text(
    text: str, old: str, new: str, *, every: bool = False, expected: int | None = None
) -> tuple[str, int]:
    """Replace `old`; return the text and the count. `new` gets the line endings of `text`.

    Args:
        every: replace all occurrences; otherwise exactly one must exist.
        expected: exact number of occurrences, all of which are replaced.

    Raises:
        ToolFailed: `no_match`, `ambiguous_match` or `no_change`.
    """
    found = _as_written(text, old)
    count = text.count(found)
    if not count:
        raise ToolFailed(_mismatch(text, old), code="no_match")
    if expected is not None and count != expected:
        raise ToolFailed(
            f"old_text found {count} times, expected_replacements is {expected};"
            f" nothing was changed. It starts on lines {_lines_of(text, found)}",
            code="ambiguous_match",
            found=count,
        )
    if count > 1 and not every and expected is None:
        raise ToolFailed(
            f"old_text found {count} times, on lines {_lines_of(text, found)}."
            " Add more context to make it unique, or set replace_all",
            code="ambiguous_match",
            found=count,
        )
    changed = text.replace(found, with_newlines(new, newline_of(text)))
    if changed == text:
        raise ToolFailed("new_text is the same as old_text: nothing to change", code="no_change")
    return changed, count


def replace_lines(text: str, start: int, end: int, new: str) -> str:
    """Replace lines `start` to `end` (from 1, inclusive) with `new`; empty `new` deletes them.

    Raises:
        ToolFailed: `line_out_of_range` or `no_change`.
    """
    total = count_lines(text)
    for name, number in (("start_line", start), ("end_line", end)):
        if number > total:
            raise ToolFailed(
                f"{name} {number} is past the end: the file has {_lines(total)}",
                code="line_out_of_range",
                total_lines=total,
            )
    first = line_start(text, start - 1)
    changed = _joined(text, first, new, line_start(text, end - start + 1, first))
    if changed == text:
        raise ToolFailed("new_text is the current content of these lines", code="no_change")
    return changed


def insert_lines(text: str, before: int, new: str) -> str:
    """Insert `new` before line `before`; one past the last line appends.

    Raises:
        ToolFailed: `line_out_of_range`.
    """
    total = count_lines(text)
    if before > total + 1:
        raise ToolFailed(
            f"start_line {before} is past the end: the file has {_lines(total)},"
            f" insert at {total + 1} at most",
            code="line_out_of_range",
            total_lines=total,
        )
    position = line_start(text, before - 1)
    return _joined(text, position, new, position)


def _joined(text: str, start: int, new: str, end: int) -> str:
    """Return `text` with `new` instead of `text[start:end]`, both of whole lines.

    The result ends with a newline exactly when `text` does.
    """
    newline = newline_of(text)
    body = with_newlines(new, newline)
    if body and not body.endswith("\n"):
        body += newline
    if start and body and text[start - 1] != "\n":
        body = newline + body
    changed = text[:start] + body + text[end:]
    if text and not text.endswith("\n") and changed.endswith("\n"):
        return changed[: -len(newline)] if changed.endswith(newline) else changed[:-1]
    return changed


def _as_written(text: str, old: str) -> str:
    """Return `old` with the line endings of its occurrence in `text`."""
    for candidate in (old, with_newlines(old, "\n"), with_newlines(old, "\r\n")):
        if candidate in text:
            return candidate
    return old


def _lines_of(text: str, found: str, limit: int = 10) -> str:
    numbers: list[str] = []
    position = text.find(found)
    while position >= 0 and len(numbers) < limit:
        numbers.append(str(text.count("\n", 0, position) + 1))
        position = text.find(found, position + len(found))
    return ", ".join(numbers) + (", …" if position >= 0 else "")


def _mismatch(text: str, old: str) -> str:
    message = (
        f"old_text not found: it has {_lines(count_lines(old))} and {len(old)} characters,"
        f" the file {_lines(count_lines(text))} and {len(text)} characters"
    )
    wanted = next((line.strip() for line in split_lines(old[:_SEARCHED]) if line.strip()), "")
    lines = [line.strip()[:_SHOWN] for line in split_lines(text[:_SEARCHED])]
    if wanted[:_SHOWN] in lines:
        number = lines.index(wanted[:_SHOWN]) + 1
        return (
            f"{message}. Its first line is on line {number}; what follows, or the "
            f"whitespace, differs:\n{number}| {lines[number - 1]}"
        )
    close = get_close_matches(wanted[:_SHOWN], lines[:_COMPARED_LINES], n=3, cutoff=0.6)
    if not close:
        return f"{message}. No line resembles it; read the file again"
    nearest = (f"{lines.index(line) + 1}| {line}" for line in close)
    return f"{message}. Nearest lines:\n" + "\n".join(nearest)


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"
