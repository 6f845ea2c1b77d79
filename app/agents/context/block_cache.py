"""Token counts and truncated forms of a conversation's blocks, computed once.

Each request of a run sends the whole conversation again. Its blocks never change, so a request only
costs what is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.agents.context.estimate import block_tokens
from app.agents.context.truncation import Cut, cut_result

Block = dict[str, Any]
Message = Mapping[str, Any]


class BlockCache:
    """Cache for the requests of one conversation.

    What a request does not use is discarded by the next one. Keys are identities of blocks, which
    the entries keep alive.
    """

    def __init__(self) -> None:
        self._tokens: dict[int, tuple[Block, int]] = {}
        self._tokens_before: dict[int, tuple[Block, int]] = {}
        self._cut: dict[tuple[int, Cut, str | None], tuple[Block, Block]] = {}
        self._cut_before: dict[tuple[int, Cut, str | None], tuple[Block, Block]] = {}

    def begin_request(self) -> None:
        """Discard what the previous request has not used."""
        self._tokens_before, self._tokens = self._tokens, {}
        self._cut_before, self._cut = self._cut, {}

    def message_tokens(self, message: Message) -> int:
        """Estimate one message with its blocks."""
        return sum(map(self._block_tokens, message["content"]))

    def cut_message(self, message: dict[str, Any], cut: Cut, reader: str | None) -> dict[str, Any]:
        """Return a message with its large results truncated; itself if there are none."""
        content = message["content"]
        blocks = [self._cut_block(block, cut, reader) for block in content]
        same = all(new is old for new, old in zip(blocks, content, strict=True))
        return message if same else {**message, "content": blocks}

    def _block_tokens(self, block: Block) -> int:
        key = id(block)
        known = self._tokens.get(key)
        if known is None:
            known = self._tokens_before.get(key) or (block, block_tokens(block))
            self._tokens[key] = known
        return known[1]

    def _cut_block(self, block: Block, cut: Cut, reader: str | None) -> Block:
        key = (id(block), cut, reader)
        known = self._cut.get(key)
        if known is None:
            known = self._cut_before.get(key) or (block, cut_result(block, cut, reader))
            self._cut[key] = known
        return known[1]
