"""Trimming of old large tool results to their beginning and end, with a hint to read the rest.

Trimming depends only on the conversation: past requests are replayed, and where one was too large,
all older results were trimmed together. A trimmed result therefore stays trimmed in the same way,
even after a restart, and a provider's cache of the preceding part stays valid. Stored data does not
change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.agents.context.estimate import message_tokens

READ_RESULT = "read_result"
RECENT = 6
"""Messages at the end that are sent unchanged."""
_SPILLED = re.compile(r"read_file path=(artifact:[0-9A-Za-z_]{1,80})")

Block = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """Truncation of results longer than `longest` characters to `head` and `tail`."""

    longest: int = 3_000
    head: int = 1_000
    tail: int = 500


USUAL = Cut()
HARD = Cut(1_200, 500, 300)


def trimmed(messages: Sequence[Message], *, threshold: int, reader: str | None) -> list[Message]:
    """Return the messages as sent.

    Args:
        threshold: tokens above which old results are trimmed.
        reader: tool that reads the rest of a result; None if it cannot be called.
    """
    sent = list(messages)
    total, done, limit = 0, 0, threshold
    for index, message in enumerate(messages):
        total += message_tokens(message)
        # Each user message has led to a request.
        if message["role"] != "user" or total <= limit:
            continue
        old = max(done, index + 1 - RECENT)
        for place in range(done, old):
            sent[place] = cut_message(messages[place], USUAL, reader)
            total -= message_tokens(messages[place]) - message_tokens(sent[place])
        done, limit = old, max(threshold, total + threshold // 2)
    return sent


def cut_message(message: Message, cut: Cut, reader: str | None) -> Message:
    """Return a message with its large results truncated."""
    content = message["content"]
    blocks = [cut_result(block, cut, reader) for block in content]
    same = all(new is old for new, old in zip(blocks, content, strict=True))
    return message if same else {**message, "content": blocks}


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
