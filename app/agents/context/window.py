"""Context window: keeps a conversation within its budget at every request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.agents.context.block_cache import BlockCache
from app.agents.context.compaction import (
    Compaction,
    Method,
    digest,
    find_cut,
    summary_message,
    transcript,
    words_of_user,
)
from app.agents.context.estimate import Calibration, messages_tokens
from app.agents.context.trim import trimmed
from app.agents.context.truncation import HARD
from app.agents.history import repair
from app.agents.models.protocol import TokenUsage
from app.core.errors import ContextFull, ModelFailed

Message = dict[str, Any]
Summarise = Callable[[str], Awaitable[str]]
"""A transcript → its summary. Raises ModelFailed."""

_TRIM_SHARE = 0.4
_COMPACT_SHARE = 0.8
_KEEP_SHARE = 0.3
_LEAST_SHARE = 0.1
_TRANSCRIPT_CHARS_PER_TOKEN = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """Conversation ready to send.

    Attributes:
        messages: messages to send: repaired, trimmed, within the budget.
        history: conversation to continue with; shorter than the input if compacted.
        tokens: tokens of the whole request, corrected by earlier counts.
        estimated: the same before correction.
        compaction: compaction made for this request, if any.
    """

    messages: list[Message]
    history: list[Message]
    tokens: int
    estimated: int
    compaction: Compaction | None = None


class ContextWindow:
    """Keeps one conversation within `budget` tokens.

    Args:
        budget: maximum tokens of a whole request; may change between requests.
        reader: tool that reads the rest of a trimmed result, if it can be called.
    """

    def __init__(self, budget: int, *, reader: str | None = None) -> None:
        self.budget = budget
        self.reader = reader
        self._calibration = Calibration()
        self._cache = BlockCache()
        # Size of a request that a provider refused as too long; it limits later requests too.
        self._refused: int | None = None

    @property
    def limit(self) -> int:
        """Return the target size of a request in tokens; requests beyond `budget` are not sent."""
        return self.budget if self._refused is None else min(self.budget, self._refused)

    async def fit(
        self,
        messages: Sequence[Message],
        *,
        overhead: int = 0,
        summarise: Summarise | None = None,
        overflowed: bool = False,
    ) -> Fitted:
        """Return the conversation for the next request.

        Old large results are trimmed; if that is not enough, a summary permanently replaces the
        older part.

        Args:
            overhead: tokens of the system prompt and of the tool definitions.
            summarise: writes summaries; without it, a digest of first lines is used.
            overflowed: the provider has just refused this conversation as too long.

        Raises:
            ContextFull: the required part does not fit; the message says what to do.
        """
        self._cache.begin_request()
        sent = self._fitted(list(messages), overhead)
        if overflowed:
            fixed = int(overhead * self._calibration.ratio)
            said = min(self.limit, sent.tokens) - fixed
            self._refused = fixed + max(0, int(said * _COMPACT_SHARE))
        if sent.tokens > self.limit * _COMPACT_SHARE:
            sent = await self._compacted(sent, overhead, summarise, must=overflowed)
        return sent if sent.tokens <= self.limit else self._squeezed(sent, overhead)

    def learn(self, fitted: Fitted, usage: TokenUsage) -> None:
        """Learn from a provider's count for a request."""
        self._calibration.learn(fitted.estimated, usage)

    def _fitted(self, history: list[Message], overhead: int) -> Fitted:
        # Trimming must not depend on learned corrections: it would change, and no cache would match
        # the conversation.
        threshold = int(self.budget * _TRIM_SHARE)
        messages = trimmed(
            repair(history), threshold=threshold, reader=self.reader, cache=self._cache
        )
        return self._counted(messages, history, overhead)

    def _counted(self, messages: list[Message], history: list[Message], overhead: int) -> Fitted:
        estimated = sum(map(self._cache.message_tokens, messages)) + overhead
        return Fitted(messages, history, round(estimated * self._calibration.ratio), estimated)

    async def _compacted(
        self, sent: Fitted, overhead: int, summarise: Summarise | None, *, must: bool
    ) -> Fitted:
        history = sent.history
        room = int((self.limit / self._calibration.ratio - overhead) * _KEEP_SHARE)
        cut = find_cut(history, room)
        older = history[:cut]
        worth = messages_tokens(older) * self._calibration.ratio >= self.limit * _LEAST_SHARE
        if not cut or not (worth or must or sent.tokens > self.budget):
            return sent
        summary, method = await self._summary(older, summarise)
        compaction = Compaction(
            cut, summary, method, words_of_user(older), len(older), tokens_before=sent.tokens
        )
        fitted = self._fitted([summary_message(compaction.block(None)), *history[cut:]], overhead)
        return replace(fitted, compaction=replace(compaction, tokens_after=fitted.tokens))

    async def _summary(
        self, older: list[Message], summarise: Summarise | None
    ) -> tuple[str, Method]:
        """Return a summary; uses a digest if the model fails, so that the run continues."""
        if summarise is not None:
            longest = max(4_000, int(self.limit * _COMPACT_SHARE) * _TRANSCRIPT_CHARS_PER_TOKEN)
            try:
                written = await summarise(transcript(older, longest))
            except ModelFailed:
                written = ""
            if written.strip():
                return written.strip(), "model"
        return digest(older), "digest"

    def _squeezed(self, sent: Fitted, overhead: int) -> Fitted:
        """Trim recent results too: first all but the newest message, then that one as well."""
        tried = sent
        for upto in (len(sent.messages) - 1, len(sent.messages)):
            hard = [
                self._cache.cut_message(message, HARD, self.reader)
                for message in sent.messages[:upto]
            ]
            messages = [*hard, *sent.messages[upto:]]
            tried = self._counted(messages, sent.history, overhead)
            if tried.tokens <= self.limit:
                break
        if tried.tokens <= self.budget:
            return replace(tried, compaction=sent.compaction)
        raise ContextFull(
            f"The next model request needs about {tried.tokens} tokens, but the limit "
            f"is {self.budget}: send shorter messages or fewer images, start a new "
            "session, enable fewer tools, or raise context_tokens "
            "(TOLLGATE_CONTEXT_TOKENS) if the model supports more",
            needed=tried.tokens,
            limit=self.budget,
        )
