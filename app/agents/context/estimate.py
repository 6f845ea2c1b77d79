"""Estimate of a conversation's tokens, without a tokenizer.

A provider returns the exact count afterwards, which corrects the next estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.agents.models.protocol import TokenUsage
from app.core.text import dump_json

IMAGE_TOKENS = 1_600
"""Tokens of the largest image that a provider does not scale down."""
_BLOCK_TOKENS = 8
_CHARS_PER_TOKEN = 4.0
_PER_WIDE_BYTE = 0.375
_LEAST_RATIO, _MOST_RATIO = 0.7, 3.0
_CREDIBLE = (0.3, 5.0)


def text_tokens(text: str) -> int:
    """Estimate four ASCII characters per token, and one token per other character."""
    wide = len(text.encode("utf-8", "replace")) - len(text)
    return round(len(text) / _CHARS_PER_TOKEN + wide * _PER_WIDE_BYTE)


def message_tokens(message: Mapping[str, Any]) -> int:
    """Estimate one message with its blocks."""
    return sum(map(block_tokens, message["content"]))


def messages_tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    """Estimate all messages."""
    return sum(map(message_tokens, messages))


def block_tokens(block: Mapping[str, Any]) -> int:
    """Estimate one content block."""
    kind = block.get("type")
    if kind == "image":
        return IMAGE_TOKENS
    if kind == "tool_use":
        written = dump_json(block.get("input") or {}).decode()
        return _BLOCK_TOKENS + text_tokens(f"{block.get('name')}{written}")
    if kind == "tool_result":
        inner = block.get("content") or ()
        if isinstance(inner, str):
            return _BLOCK_TOKENS + text_tokens(inner)
        return _BLOCK_TOKENS + sum(map(block_tokens, inner))
    said = block.get("text") or block.get("thinking") or block.get("data") or ""
    return _BLOCK_TOKENS + text_tokens(str(said))


class Calibration:
    """Correction of token estimates for one conversation, from its last response."""

    def __init__(self) -> None:
        self.ratio = 1.0

    def learn(self, estimated: int, usage: TokenUsage) -> None:
        """Learn from a provider's count for a request; implausible counts are ignored.

        Args:
            estimated: estimate of the request before correction.
        """
        counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_creation_tokens
        if estimated <= 0 or not _CREDIBLE[0] <= counted / estimated <= _CREDIBLE[1]:
            return
        self.ratio = min(max(counted / estimated, _LEAST_RATIO), _MOST_RATIO)
