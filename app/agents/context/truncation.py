"""Truncation of one large tool result to its beginning and end, with a hint to read the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SPILLED = re.compile(r"read_file path=(artifact:[0-9A-Za-z_]{1,80})")

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """Truncation of results longer than `longest` characters to `head` and `tail`."""

    longest: int = 3_000
    head: int = 1_000
    tail: int = 500


USUAL = Cut()
HARD = Cut(1_200, 500, 300)


def cut_result(block: Block, cut: Cut, reader: str | None) -> Block:
    """Return a `tool_result` with the beginning and end of its text; other blocks are unchanged."""
    inner = block.get("content")
    if block.get("type") != "tool_result" or not inner:
        return block
    parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner
    text = "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    images = sum(part.get("type") == "image" for part in parts)
    if len(text) <= cut.longest and not images:
        return block
    if len(text) > cut.longest:
        text = _shortened(text, cut, str(block.get("tool_use_id", "")), reader)
    if images:
        text = f"{text}\n[{images} image(s) of this result are omitted here.]"
    return {**block, "content": [{"type": "text", "text": text}]}


def _shortened(text: str, cut: Cut, call_id: str, reader: str | None) -> str:
    left_out = len(text) - cut.head - cut.tail
    ways = []
    if reader is not None:
        ways.append(f"continue with {reader} tool_call_id={call_id} offset={cut.head}")
    spilled = _SPILLED.search(text)
    if spilled is not None:
        ways.append(f"read_file path={spilled[1]} returns the full output")
    how = "; ".join(ways) or "call the tool again if you need it"
    note = f"[… {left_out} characters of this older result are omitted: {how} …]"
    return f"{text[: cut.head]}\n{note}\n{text[-cut.tail :]}"
