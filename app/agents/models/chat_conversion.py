"""Conversion of a neutral request to the body of `POST /chat/completions`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.agents.models.conversion import name_of_call
from app.agents.models.protocol import Block, Message, ModelRequest
from app.catalog.formats import openai_definition
from app.core.text import clean, dump_json

_REFUSED_STATUS = (400, 422)
_NOT_KNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not (?:allowed|permitted)",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\bmax_(?:completion_)?tokens\b")
_TEXT_BETWEEN = "\n\n"

LimitField = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Variant of the wire format that a server accepts, shared by all requests.

    Attributes:
        limit: field of the output limit; servers know one of the two.
        usage: whether `stream_options` requests token counts.
        settled: `limit` has already been changed once.
    """

    limit: LimitField
    usage: bool = True
    settled: bool = False

    def after_refusal(self, status: int, body: str) -> Dialect | None:
        """Return the variant to try next, or None if the refusal has another cause."""
        if status not in _REFUSED_STATUS or not _NOT_KNOWN.search(body):
            return None
        if self.usage and "stream_options" in body:
            return replace(self, usage=False)
        if not self.settled and self.limit in _LIMIT.findall(body):
            other: LimitField = (
                "max_tokens" if self.limit == "max_completion_tokens" else "max_completion_tokens"
            )
            return replace(self, limit=other, settled=True)
        return None


def chat_body(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the body of the request, except whether it is streamed.

    This API has no thinking budget and no adaptive thinking, so neither is sent.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [*_system(request.system), *chat_messages(request.messages)],
        dialect.limit: request.max_tokens,
    }
    if request.tools:
        body["tools"] = [
            openai_definition(tool["name"], tool.get("description", ""), tool["input_schema"])
            for tool in request.tools
        ]
        if request.answer_only:
            body["tool_choice"] = "none"
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.effort is not None:
        body["reasoning_effort"] = request.effort
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    return body


def chat_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return `messages` in this API's roles; messages left empty are omitted."""
    wire: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        wire.extend(_assistant(blocks) if message["role"] == "assistant" else _user(blocks))
    return wire


def _system(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"role": "system", "content": clean(text)}


def _assistant(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Omit thinking: no server of this API accepts it back."""
    kept = list(blocks)
    text = _text(kept)
    calls = [_call(block) for block in kept if block.get("type") == "tool_use"]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": "assistant", "content": text}


def _call(block: Block) -> dict[str, Any]:
    # Invalid input JSON is not repeated: servers refuse such a conversation.
    arguments = dump_json(block.get("input") or {}).decode()
    function = {"name": name_of_call(str(block["name"])), "arguments": arguments}
    return {"id": clean(str(block["id"])), "type": "function", "function": function}


def _user(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Yield the results first, each as a separate message, then their images as a user message."""
    said: list[Block] = []
    shown: list[Block] = []
    for block in blocks:
        if block.get("type") != "tool_result":
            said.append(block)
            continue
        call, content = clean(str(block["tool_use_id"])), _blocks_of(block)
        images = [part for part in content if part.get("type") == "image"]
        text = _text(content)
        if images:
            shown += [{"type": "text", "text": f"From the result of {call}:"}, *images]
            text = text or "(see the next message)"
        yield {"role": "tool", "tool_call_id": call, "content": text or "(no output)"}
    parts = [part for block in (*shown, *said) if (part := _part(block)) is not None]
    if any(part["type"] != "text" for part in parts):
        yield {"role": "user", "content": parts}
    elif parts:
        # Some servers accept parts only with images.
        yield {"role": "user", "content": _TEXT_BETWEEN.join(part["text"] for part in parts)}


def _blocks_of(result: Block) -> list[Block]:
    content = result.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _text(blocks: Iterable[Block]) -> str:
    texts = [block["text"] for block in blocks if block.get("type") == "text" and block.get("text")]
    return clean(_TEXT_BETWEEN.join(texts))


def _part(block: Block) -> dict[str, Any] | None:
    if block.get("type") == "text" and block.get("text"):
        return {"type": "text", "text": clean(block["text"])}
    source = block.get("source") or {}
    if block.get("type") == "image" and source.get("type") == "base64":
        url = f"data:{source['media_type']};base64,{source['data']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return None
