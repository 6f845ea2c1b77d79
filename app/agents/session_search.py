"""Search in the titles and messages of a user's own sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select

from app.db.engine import Database
from app.db.tables import EntryRow, SessionRow
from app.domain.history import FoundMessage, Visitor
from app.governance.identity.token_rules import DEFAULT_AGENT

_LOOKED_AT = 300
_AROUND = 100
_MAX_TITLE = 200
_SPOKEN = ("user", "assistant")


class StoredSessions:
    """`SessionSearch` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self, words: Sequence[str], visitor: Visitor, *, limit: int
    ) -> list[FoundMessage]:
        titles = await self._titles(words, visitor, limit)
        return [*titles, *await self._messages(words, visitor, limit - len(titles))]

    async def _titles(
        self, words: Sequence[str], visitor: Visitor, limit: int
    ) -> list[FoundMessage]:
        query = (
            select(SessionRow)
            .where(*_own(visitor), *(_holds(SessionRow.title, word) for word in words))
            .order_by(col(SessionRow.updated_at).desc())
            .limit(limit)
        )
        async with self._database.session() as session:
            rows = (await session.exec(query)).all()
        return [
            FoundMessage(row.id, row.title[:_MAX_TITLE], None, None, row.title, row.updated_at)
            for row in rows
        ]

    async def _messages(
        self, words: Sequence[str], visitor: Visitor, limit: int
    ) -> list[FoundMessage]:
        # The column is JSON: a word appears in its JSON form, and may be a key.
        written = [orjson.dumps(word)[1:-1].decode() for word in words]
        query = (
            select(EntryRow, SessionRow.title)
            .join(SessionRow, col(SessionRow.id) == col(EntryRow.session_id))
            .where(
                *_own(visitor),
                col(EntryRow.role).in_(_SPOKEN),
                *(_holds(EntryRow.content, word) for word in written),
            )
            .order_by(col(EntryRow.created_at).desc(), col(EntryRow.id).desc())
            .limit(_LOOKED_AT)
        )
        async with self._database.session() as session:
            rows = (await session.exec(query)).all()
        found: list[FoundMessage] = []
        for entry, title in rows:
            said = said_in(entry.content)
            if len(found) < limit and all(word.lower() in said.lower() for word in words):
                excerpt = excerpt_of(said, words[0])
                place = (entry.session_id, title[:_MAX_TITLE], entry.id, entry.role)
                found.append(FoundMessage(*place, excerpt, entry.created_at))
        return found


def _own(visitor: Visitor) -> list[ColumnElement[bool]]:
    """Return the condition for one user's sessions: a token for an agent or project finds no
    others.
    """
    agent = func.coalesce(SessionRow.agent_id, DEFAULT_AGENT)
    return [
        col(SessionRow.user_id) == visitor.user_id,
        col(SessionRow.kind) == "chat",
        agent == (visitor.agent_id or DEFAULT_AGENT),
        col(SessionRow.project_id).is_not_distinct_from(visitor.project_id),
        col(SessionRow.id).is_distinct_from(visitor.session_id),
    ]


def _holds(column: Any, word: str) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = col(column).icontains(word, autoescape=True)
    return condition


def said_in(content: str) -> str:
    """Return the text of a message, without calls, results and images."""
    blocks = orjson.loads(content)
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def excerpt_of(text: str, word: str) -> str:
    """Return the text around a word, on one line."""
    at = max(text.lower().find(word.lower()), 0)
    start, end = max(0, at - _AROUND), at + len(word) + _AROUND
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
