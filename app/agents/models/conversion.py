"""From a neutral request to the body of `POST /v1/messages`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.agents.models.protocol import Block, ModelRequest
from app.core.text import clean, scrub

# The API refuses a block with a field that it does not know, and session entries may
# carry fields of ours, so only these go out.
_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "image": ("source",),
    "document": ("source", "title", "context"),
}


def request_arguments(request: ModelRequest, *, cache_prompts: bool) -> dict[str, Any]:
    """Keyword arguments for the SDK's `messages.create`."""
    arguments: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": wire_messages(request.messages),
    }
    if request.system:
        arguments["system"] = clean(request.system)
    if request.tools:
        arguments["tools"] = [dict(tool) for tool in request.tools]
    if request.thinking_budget is not None:
        arguments["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
    elif request.adaptive_thinking:
        arguments["thinking"] = {"type": "adaptive"}
    if request.effort is not None:
        arguments["output_config"] = {"effort": request.effort}
    if cache_prompts:
        arguments["cache_control"] = {"type": "ephemeral"}
    if request.temperature is not None:
        # The SDK dropped the argument; models that know it still read the field.
        arguments["extra_body"] = {"temperature": request.temperature}
    return arguments


def wire_messages(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`messages` without what the API refuses; a message left empty is left out.

    Refused: fields it does not know, blocks it does not know, text without text,
    thinking without its signature.
    """
    wire = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kept = _wire_blocks(blocks)
        if kept:
            wire.append({"role": message["role"], "content": kept})
    return wire


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
    wire: Block = {"type": kind}
    for name in fields:
        if name not in block:
            continue
        value = block[name]
        nested = kind == "tool_result" and name == "content" and not isinstance(value, str)
        wire[name] = _wire_blocks(value or ()) if nested else scrub(value)
    return wire
