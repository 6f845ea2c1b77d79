"""Trimming of the old large tool results of a conversation.

Trimming depends only on the conversation: past requests are replayed, and where one was too large,
all older results were trimmed together. A trimmed result therefore stays trimmed in the same way,
even after a restart, and a provider's cache of the preceding part stays valid. Stored data does not
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.agents.context.block_cache import BlockCache
from app.agents.context.truncation import USUAL

READ_RESULT = "read_result"
RECENT = 6
"""Messages at the end that are sent unchanged."""

Message = dict[str, Any]


def trimmed(
    messages: Sequence[Message],
    *,
    threshold: int,
    reader: str | None,
    cache: BlockCache | None = None,
) -> list[Message]:
    """Return the messages as sent.

    Args:
        threshold: tokens above which old results are trimmed.
        reader: tool that reads the rest of a result; None if it cannot be called.
        cache: cache of the conversation.
    """
    known = cache or BlockCache()
    sent = list(messages)
    total, done, limit = 0, 0, threshold
    for index, message in enumerate(messages):
        total += known.message_tokens(message)
        # Each user message has led to a request.
        if message["role"] != "user" or total <= limit:
            continue
        old = max(done, index + 1 - RECENT)
        for place in range(done, old):
            sent[place] = known.cut_message(messages[place], USUAL, reader)
            total -= known.message_tokens(messages[place]) - known.message_tokens(sent[place])
        done, limit = old, max(threshold, total + threshold // 2)
    return sent
