"""What is known of a conversation's blocks is computed once, and forgotten with them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from app.agents.context import block_cache
from app.agents.context.block_cache import BlockCache
from app.agents.context.estimate import block_tokens, message_tokens, messages_tokens
from app.agents.context.trim import READ_RESULT, trimmed
from app.agents.context.window import ContextWindow
from tests.agents.context.test_window import dug
from tests.agents.test_history import said, user

Message = dict[str, Any]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The blocks that were estimated."""
    seen: list[Message] = []

    def watched(block: Message) -> int:
        seen.append(block)
        return block_tokens(block)

    monkeypatch.setattr(block_cache, "block_tokens", watched)
    return seen


def test_a_growing_conversation_is_trimmed_as_without_a_cache():
    messages, cache = dug(60), BlockCache()
    for end in range(1, len(messages) + 1):
        cache.begin_request()
        part = messages[:end]
        now = trimmed(part, threshold=8_000, reader=READ_RESULT, cache=cache)
        assert now == trimmed(part, threshold=8_000, reader=READ_RESULT)
        assert [cache.message_tokens(message) for message in now] == list(map(message_tokens, now))


async def test_a_request_estimates_only_what_is_new(counted: list[Message]):
    messages, window = dug(200, size=10), ContextWindow(100_000)
    first = await window.fit(messages[:-2])
    counted.clear()
    last = await window.fit(messages)
    assert len(counted) == 2
    assert first.estimated == messages_tokens(messages[:-2])
    assert last.estimated == messages_tokens(messages)


async def test_a_block_is_not_taken_for_another_one_at_its_place(counted: list[Message]):
    window = ContextWindow(100_000)
    for length in range(200):
        # The block of the round before is gone by now, and its address may be used again.
        fitted = await window.fit([user(said("x" * length * 4))])
        assert fitted.estimated == 8 + length
    assert len(counted) == 200


async def test_what_is_no_longer_sent_is_forgotten():
    window, block = ContextWindow(20_000), said("old")
    before = sys.getrefcount(block)
    await window.fit([user(block)])
    assert sys.getrefcount(block) > before
    for _ in range(2):
        await window.fit([user(said("new"))])
    assert sys.getrefcount(block) == before
