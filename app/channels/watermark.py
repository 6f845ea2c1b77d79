"""Marks on texts that an agent wrote, so that people or programs can tell."""

from __future__ import annotations

import re

from app.tools.channels.ports import Watermark

# Neither shapes letters, as the joiners do that some scripts and emoji need.
_BITS = ("\u200b", "\u2060")
_FRAME = "\u2063"
_DIGITS = 24
_WIDTH = _DIGITS * 4
_MARK = re.compile(f"{_FRAME}([{''.join(_BITS)}]{{{_WIDTH}}}){_FRAME}")
_ID = re.compile(rf"[a-z]+_([0-9a-f]{{{_DIGITS}}})\Z")


def marked(text: str, how: Watermark, task_id: str, suffix: str) -> str:
    """The text as it is sent.

    `suffix` puts a line below it, `zero-width` hides the task's id behind it, `none` leaves it.
    A hidden mark that the text brings along is taken out: it would name another task.
    """
    text = _MARK.sub("", text)
    if how == "suffix":
        return f"{text}\n{suffix}"
    if how == "zero-width":
        # What stands at its end could make another mark together with the beginning of ours.
        return text.rstrip("".join((*_BITS, _FRAME))) + _hidden(task_id)
    return text


def hidden_mark(text: str) -> str | None:
    """The digits of the id that a text hides, the last one; None without one."""
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
