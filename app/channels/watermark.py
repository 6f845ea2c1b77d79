"""Watermarks on texts written by agents, for people or programs."""

from __future__ import annotations

import re

from app.tools.channels.ports import Watermark

# Neither affects letters, unlike the joiners needed by some scripts and emoji.
_BITS = ("\u200b", "\u2060")
_FRAME = "\u2063"
_DIGITS = 24
_WIDTH = _DIGITS * 4
_MARK = re.compile(f"{_FRAME}([{''.join(_BITS)}]{{{_WIDTH}}}){_FRAME}")
_ID = re.compile(rf"[a-z]+_([0-9a-f]{{{_DIGITS}}})\Z")


def marked(text: str, how: Watermark, task_id: str, suffix: str) -> str:
    """Return the text to send.

    `suffix` adds a line below it, `zero-width` appends the hidden task ID, `none` leaves it
    unchanged. A hidden mark already in the text is removed, because it would name another task.
    """
    text = _MARK.sub("", text)
    if how == "suffix":
        return f"{text}\n{suffix}"
    if how == "zero-width":
        # Characters at its end could form another mark with the beginning of ours.
        return text.rstrip("".join((*_BITS, _FRAME))) + _hidden(task_id)
    return text


def hidden_mark(text: str) -> str | None:
    """Return the digits of the last ID hidden in a text; None without one."""
    found = _MARK.findall(text)
    if not found:
        return None
    value = int("".join("1" if bit == _BITS[1] else "0" for bit in found[-1]), 2)
    return f"{value:0{_DIGITS}x}"


def _hidden(task_id: str) -> str:
    found = _ID.match(task_id)
    if found is None:
        raise ValueError(f"ID {task_id!r} cannot be encoded in a watermark")
    bits = f"{int(found[1], 16):0{_WIDTH}b}"
    return _FRAME + "".join(_BITS[int(bit)] for bit in bits) + _FRAME
