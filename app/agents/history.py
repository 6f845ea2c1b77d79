"""Conversion of session entries to model messages.

Every `tool_use` is answered in the next user message, whatever happened to the call: otherwise a
provider permanently refuses the whole session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import orjson

from app.agents.context.compaction import SUMMARY, summary_message
from app.tools.untrusted import untrusted

Block = dict[str, Any]
Message = dict[str, Any]

INTERRUPTED = "The service stopped while this call was running; whether it took effect is unknown."
DELEGATED = (
    "Its sub-agents are in batch {batch_id}; unfinished ones continue. Call delegate_status to get "
    "their progress or to wait for them before you delegate the same work again."
)
NOT_RUN = (
    "The service stopped before this call started, so it did not run. Call it again if needed."
)


class StoredEntry(Protocol):
    """Fields of a stored entry that are read."""

    id: str
    role: str
    content: str


def to_messages(entries: Iterable[StoredEntry]) -> list[Message]:
    """Return the messages of one branch, ready for `repair`, each with the `id` of its entry.

    The newest summary on the branch comes first and replaces everything before the first entry that
    it keeps.
    """
    path = list(entries)
    messages: list[Message] = []
    for place in range(len(path) - 1, -1, -1):
        if path[place].role != SUMMARY:
            continue
        block = orjson.loads(path[place].content)[0]
        ids = [entry.id for entry in path[:place]]
        if block.get("keeps_from") in ids:
            messages = [{**summary_message(block), "id": path[place].id}]
            path = path[ids.index(block["keeps_from"]) :]
            break
    return messages + [
        {**entry_message(entry.role, orjson.loads(entry.content)), "id": entry.id}
        for entry in path
        if entry.role != SUMMARY
    ]


def entry_message(role: str, content: list[Block]) -> Message:
    """Return an entry as a message. Direct calls of a person become text (`direct`)."""
    if role == "assistant":
        return {"role": "assistant", "content": content}
    if any(block.get("type") == "tool_use" for block in content):
        as_text = [_call_as_text(block) for block in content]
        return {"role": "user", "content": as_text, "direct": True}
    if role == "tool" and any(block.get("direct") for block in content):
        as_text = [_result_as_text(block) for block in content]
        return {"role": "user", "content": as_text, "direct": True}
    return {"role": "user", "content": content}


def repair(messages: Sequence[Message]) -> list[Message]:
    """Answer unanswered calls, drop results without calls, and merge neighbors of one role."""
    repaired: list[Message] = []
    open_calls: list[str] = []
    for message in _merged(messages):
        content = message["content"]
        if message["role"] == "user":
            content = _answered(content, open_calls)
            open_calls = []
        else:
            if open_calls:
                _add(repaired, "user", _answered([], open_calls))
            open_calls = [block["id"] for block in content if block.get("type") == "tool_use"]
        if content:
            _add(repaired, message["role"], content)
    if open_calls:
        _add(repaired, "user", _answered([], open_calls))
    return repaired


def _merged(messages: Sequence[Message]) -> list[Message]:
    """Merge user messages between calls and their results with the results."""
    merged: list[Message] = []
    for message in messages:
        if message["role"] == "user":
            _add(merged, "user", message["content"])
        else:
            merged.append({"role": message["role"], "content": list(message["content"])})
    return merged


def _add(messages: list[Message], role: str, content: list[Block]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(content)
    else:
        messages.append({"role": role, "content": list(content)})


def _answered(content: list[Block], open_calls: list[str]) -> list[Block]:
    """Return the results first, one for each open call, then the rest."""
    results = {
        block["tool_use_id"]: block for block in content if block.get("type") == "tool_result"
    }
    answers = [results.get(call_id) or missing_result(call_id) for call_id in open_calls]
    rest = [block for block in content if block.get("type") != "tool_result"]
    return [*answers, *rest]


def missing_result(call_id: str, text: str = INTERRUPTED) -> Block:
    """Return a `tool_result` for a call without one."""
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": [{"type": "text", "text": text}],
        "is_error": True,
    }


def _call_as_text(block: Block) -> Block:
    if block.get("type") != "tool_use":
        return block
    arguments = orjson.dumps(block.get("input") or {}).decode()
    return {"type": "text", "text": f"[I ran the tool {block['name']} myself with {arguments}]"}


def _result_as_text(block: Block) -> Block:
    if block.get("type") != "tool_result":
        return block
    parts = block.get("content") or []
    text = "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))
    return {"type": "text", "text": f"[Its result:]\n{untrusted(text, 'tool')}"}
