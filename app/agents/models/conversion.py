"""Conversion of a neutral request to the body of `POST /v1/messages`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.agents.models.protocol import Block, ModelRequest
from app.core.text import clean, scrub

# Only these fields are sent: the API refuses blocks with unknown fields, and session entries may
# have additional ones.
_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "image": ("source",),
    "document": ("source", "title", "context"),
}


_CACHED = {"type": "ephemeral"}
# A request may contain four cache marks; the system prompt has up to two of them.
_CONVERSATION_MARKS = 2

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def request_body(request: ModelRequest, *, cache_prompts: bool) -> dict[str, Any]:
    """Return the body of the request, except whether it is streamed."""
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": wire_messages(request.messages),
    }
    if request.system:
        body["system"] = _system(request) if cache_prompts else clean(request.system)
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
        if request.answer_only:
            # Without its tools, the API refuses a conversation with calls.
            body["tool_choice"] = {"type": "none"}
    if request.thinking_budget is not None:
        if _may_think(body["messages"]):
            body["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
    elif request.adaptive_thinking:
        body["thinking"] = {"type": "adaptive"}
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    if cache_prompts:
        _mark_conversation(body["messages"], _reminders(request.messages))
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _system(request: ModelRequest) -> list[Block]:
    """Return the system prompt as blocks: the part cached with the tools, and the rest."""
    shared = request.shared_system
    if not shared or not request.system.startswith(shared):
        shared = request.system
    own = request.system[len(shared) :].lstrip("\n")
    blocks = [{"type": "text", "text": clean(text)} for text in (shared, own) if text]
    return [{**block, "cache_control": _CACHED} for block in blocks]


def _reminders(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of blocks at the end that change with every request."""
    content = messages[-1]["content"] if messages else ""
    if isinstance(content, str):
        return 0
    return sum(bool(block.get("reminder") and block.get("text")) for block in content)


def _mark_conversation(wire: list[dict[str, Any]], reminders: int) -> None:
    """Mark the newest message and the previous user message for caching.

    The second mark matches the cache of the previous request, however many blocks the model's last
    turn and its results have.
    """
    marks = 0
    for index in range(len(wire) - 1, -1, -1):
        if wire[index]["role"] != "user" or marks == _CONVERSATION_MARKS:
            continue
        content = wire[index]["content"]
        last = len(content) - 1 - (reminders if index == len(wire) - 1 else 0)
        if last >= 0:
            content[last] = {**content[last], "cache_control": _CACHED}
            marks += 1


def wire_messages(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return `messages` without parts that the API refuses; messages left empty are omitted.

    Refused: unknown fields, unknown blocks, empty text, thinking without its signature.
    """
    wire = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kept = _wire_blocks(blocks)
        if kept:
            wire.append({"role": message["role"], "content": kept})
    return wire


def name_of_call(name: str) -> str:
    """Return the name of an earlier call in a form that every provider accepts.

    A model may have used an invalid tool name; the conversation must stay usable.
    """
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "_"


def call_ids(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the IDs of all calls in a conversation."""
    return {
        str(block.get("id"))
        for message in messages
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block.get("type") == "tool_use"
    }


def _wire_blocks(blocks: Iterable[Mapping[str, Any]]) -> list[Block]:
    return [wire for block in blocks if (wire := _wire_block(block)) is not None]


def _wire_block(block: Mapping[str, Any]) -> Block | None:
    kind = block.get("type")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        return None
    if kind == "text" and not block.get("text"):
        return None
    if kind == "thinking" and not block.get("signature"):
        return None
    if kind == "image" and (block.get("source") or {}).get("type") not in ("base64", "url"):
        return None
    wire: Block = {"type": kind}
    for name in fields:
        if name not in block:
            continue
        value = block[name]
        nested = kind == "tool_result" and name == "content" and not isinstance(value, str)
        wire[name] = _wire_blocks(value or ()) if nested else scrub(value)
    if kind == "tool_use":
        wire["name"] = name_of_call(wire["name"])
    return wire


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """Return whether a thinking budget may be requested.

    The API refuses one during a turn of calls that started without thinking, for instance by
    another provider's model.
    """
    last = next((item for item in reversed(messages) if item["role"] == "assistant"), None)
    if last is None or not any(block["type"] == "tool_use" for block in last["content"]):
        return True
    return last["content"][0]["type"] in ("thinking", "redacted_thinking")
