"""Search for words in titles and messages of sessions.

A request searches a bounded number of sessions, most recently used first, and returns where to
continue. Only displayable text is searched: secrets are masked before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from app.agents.session_queries import SessionQueries
from app.agents.session_search import excerpt_of, said_in
from app.core.redaction import Redactor
from app.db.tables import EntryRow, SessionRow

MAX_WORDS = 8
_CHUNK = 50
_LOOKED_AT = 1000
_HITS = 3

Page = Callable[[int, str | None], Awaitable[list[SessionRow]]]


@dataclass(frozen=True, slots=True)
class MessageMatch:
    """Message that contains all words.

    Attributes:
        excerpt: text around the first word.
        on_branch: whether it is on the active branch of its session.
    """

    session_id: str
    message_id: str
    role: str
    excerpt: str
    on_branch: bool = False


@dataclass(slots=True)
class SessionMatches:
    """Sessions, most recently used first, with at most three of the newest hits in each.

    Attributes:
        next_before: position to continue from, if the search is incomplete.
    """

    sessions: list[SessionRow] = field(default_factory=list)
    hits: list[MessageMatch] = field(default_factory=list)
    next_before: str | None = None


class SessionFinder:
    """Finder of words in titles and message texts, in any script."""

    def __init__(self, archive: SessionQueries, redactor: Redactor) -> None:
        self._archive = archive
        self._redactor = redactor

    async def find(
        self, words: Sequence[str], page: Page, *, limit: int, before: str | None
    ) -> SessionMatches:
        """Find sessions with every word in the title, or every word in one message.

        Args:
            page: returns up to the given number of visible sessions after `before`.
        """
        wanted = [word.lower() for word in words[:MAX_WORDS]]
        found = await self._find(wanted, page, limit=limit, before=before)
        with_hits = {hit.session_id for hit in found.hits}
        leaves = [row.leaf_entry_id for row in found.sessions if row.id in with_hits]
        shown = await self._archive.on_branches(
            [leaf for leaf in leaves if leaf is not None], [hit.message_id for hit in found.hits]
        )
        found.hits = [replace(hit, on_branch=hit.message_id in shown) for hit in found.hits]
        return found

    async def _find(
        self, wanted: Sequence[str], page: Page, *, limit: int, before: str | None
    ) -> SessionMatches:
        found = SessionMatches()
        for _ in range(_LOOKED_AT // _CHUNK):
            rows = await page(_CHUNK, before)
            entries = await self._archive.messages_with([row.id for row in rows], wanted)
            hits = await asyncio.to_thread(self._hits, entries, wanted)
            for row in rows:
                title = row.title.lower()
                if row.id not in hits and not all(word in title for word in wanted):
                    continue
                found.sessions.append(row)
                found.hits += hits.get(row.id, [])
                if len(found.sessions) == limit:
                    found.next_before = row.id
                    return found
            if len(rows) < _CHUNK:
                return found
            before = rows[-1].id
        found.next_before = before
        return found

    def _hits(
        self, entries: Sequence[EntryRow], words: Sequence[str]
    ) -> dict[str, list[MessageMatch]]:
        hits: dict[str, list[MessageMatch]] = {}
        for entry in entries:
            own = hits.get(entry.session_id, [])
            if len(own) == _HITS:
                continue
            said = self._redactor.text(said_in(entry.content))
            if all(word in said.lower() for word in words):
                hit = MessageMatch(
                    entry.session_id, entry.id, entry.role, excerpt_of(said, words[0])
                )
                hits[entry.session_id] = [*own, hit]
        return hits
