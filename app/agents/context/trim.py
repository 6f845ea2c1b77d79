"""Old large tool results are sent as their beginning and their end, with a way to read on.

What is trimmed follows from the conversation alone: its requests are gone through as they were
made, and where one was too large everything old was trimmed at once. So a result that was
trimmed stays trimmed in the same way, also after a restart, and a provider's cache keeps what
stands before it. Nothing that is stored changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.agents.context.estimate import message_tokens

READ_RESULT = "read_result"
RECENT = 6
"Messages at the end that are sent unchanged."
_SPILLED = re.compile(r"read_file path=(artifact:[0-9A-Za-z_]{1,80})")

Block = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """How a result is cut: those longer than `longest` characters, to `head` and `tail`."""

    longest: int = 3_000
    head: int = 1_000
    tail: int = 500


USUAL = Cut()
HARD = Cut(1_200, 500, 300)


def trimmed(messages: Sequence[Message], *, threshold: int, reader: str | None) -> list[Message]:
    """The messages as they are sent.

    Args:
        threshold: tokens above which old results are trimmed.
        reader: the tool that reads a result on; None when it cannot be called.
    """
    sent = list(messages)
    total, done, limit = 0, 0, threshold
    for index, message in enumerate(messages):
        total += message_tokens(message)
        # A request was made after each message of the user's side.
        if message["role"] != "user" or total <= limit:
            continue
        old = max(done, index + 1 - RECENT)
        for place in range(done, old):
            sent[place] = cut_message(messages[place], USUAL, reader)
            total -= message_tokens(messages[place]) - message_tokens(sent[place])
        done, limit = old, max(threshold, total + threshold // 2)
    return sent


def cut_message(message: Message, cut: Cut, reader: str | None) -> Message:
    """A message whose large results are cut."""
    content = message["content"]
    blocks = [cut_result(block, cut, reader) for block in content]
    same = all(new is old for new, old in zip(blocks, content, strict=True))
    return message if same else {**message, "content": blocks}


def cut_result(block: Block, cut: Cut, reader: str | None) -> Block:
    """A `tool_result` with the beginning and the end of its text; other blocks stay."""
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
        text = f"{text}\n[{images} image(s) of this result are left out here.]"
    return {**block, "content": [{"type": "text", "text": text}]}


def _shortened(text: str, cut: Cut, call_id: str, reader: str | None) -> str:
    left_out = len(text) - cut.head - cut.tail
    ways = []
    if reader is not None:
        ways.append(f"{reader} tool_call_id={call_id} offset={cut.head} reads on")
    spilled = _SPILLED.search(text)
    if spilled is not None:
        ways.append(f"read_file path={spilled[1]} has the whole output")
    how = "; ".join(ways) or "call the tool again if you need it"
    note = f"[… {left_out} characters of this older result are left out: {how} …]"
    return f"{text[: cut.head]}\n{note}\n{text[-cut.tail :]}"
