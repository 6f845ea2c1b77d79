"""Read-only queries of sessions: lists, trees, runs, calls and events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, TextClause, func, literal, text, tuple_
from sqlmodel import col, select

from app.db.engine import Database
from app.db.event_blocks import EVERY, HEAD, READ, READ_KIND, wanted
from app.db.event_rows import unpack
from app.db.tables import (
    CHATS,
    ArtifactRow,
    ConfirmationRow,
    EntryRow,
    RunRow,
    SessionRow,
    ToolCallRow,
)
from app.governance.identity.token_rules import DEFAULT_AGENT

MAX_DEPTH = 10_000
KINDS = ("chat", "direct")
_READ_CHARS = 256 << 10
_MATCHES = 10
_HEAD, _EVENTS, _KINDS = text(HEAD), text(READ), text(READ_KIND)
# As text: the key by which an expression of this size is cached costs more than the query.
_BRANCH: Any = select(EntryRow).from_statement(
    text("""
    WITH RECURSIVE up(id, parent_id, depth) AS (
        SELECT id, parent_id, 1 FROM entries WHERE id = :leaf AND session_id = :session_id
        UNION ALL
        SELECT entries.id, entries.parent_id, up.depth + 1
        FROM entries JOIN up ON entries.id = up.parent_id
        WHERE entries.session_id = :session_id AND up.depth < :depth
    )
    SELECT entries.* FROM entries JOIN up ON entries.id = up.id ORDER BY up.depth DESC
    """)
)


def _as_text(word: str) -> str:
    """Return a pattern for JSON in which a block's text contains a word."""
    written = orjson.dumps(word)[1:-1].decode()
    for sign in "/%_":
        written = written.replace(sign, f"/{sign}")
    return f'%"text":"%{written}%'


def _is_of(kind: str) -> ColumnElement[bool] | TextClause:
    return CHATS if kind == "chat" else col(SessionRow.kind) == kind


class SessionQueries:
    """Queries of stored sessions. Every list is bounded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, session_id: str) -> tuple[dict[str, Any], int] | None:
        """Return a session's row, as `Session` expects it, and the last `seq` of its log."""
        async with self._database.session() as session:
            row = await session.get(SessionRow, session_id)
            if row is None:
                return None
            where = {"session_id": session_id, "epoch": row.epoch}
            head = await session.scalar(_HEAD, where)
        fields = {
            "id": row.id,
            "kind": row.kind,
            "title": row.title,
            "user_id": row.user_id,
            "epoch": row.epoch,
            "project_id": row.project_id,
            "agent_id": row.agent_id,
            "model": row.model,
            "max_tokens": row.max_tokens,
            "temperature": row.temperature,
            "leaf": row.leaf_entry_id,
            "meta": orjson.loads(row.meta),
            "usage": orjson.loads(row.usage),
        }
        return fields, head or 0

    async def sessions(
        self,
        user_id: str | None,
        *,
        kind: str | None,
        limit: int,
        before: str | None,
        agents: Collection[str] | None = None,
        projects: Collection[str] | None = None,
    ) -> list[SessionRow]:
        """Return a page, newest first. `before` is the last ID of the previous page; None filters
        nothing.
        """
        query = select(SessionRow).order_by(
            col(SessionRow.updated_at).desc(), col(SessionRow.id).desc()
        )
        if user_id is not None:
            query = query.where(SessionRow.user_id == user_id)
        if agents is not None:
            agent = func.coalesce(SessionRow.agent_id, DEFAULT_AGENT)
            query = query.where(agent.in_(agents))
        if projects is not None:
            query = query.where(col(SessionRow.project_id).in_(projects))
        async with self._database.session() as session:
            last = await session.get(SessionRow, before) if before else None
            if last is not None:
                position = tuple_(col(SessionRow.updated_at), col(SessionRow.id))
                query = query.where(position < (last.updated_at, last.id))
            query = query.limit(limit)
            if kind is not None:
                return list((await session.exec(query.where(_is_of(kind)))).all())
            if user_id is None:
                return list((await session.exec(query)).all())
            # The index of a user's sessions is by kind.
            pages = [(await session.exec(query.where(_is_of(each)))).all() for each in KINDS]
        rows = [row for page in pages for row in page]
        return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]

    async def session_row(self, session_id: str) -> SessionRow | None:
        async with self._database.session() as session:
            return await session.get(SessionRow, session_id)

    async def entries(self, session_id: str) -> list[EntryRow]:
        """Return the whole tree in order of creation."""
        query = (
            select(EntryRow)
            .where(EntryRow.session_id == session_id)
            .order_by(col(EntryRow.created_at), col(EntryRow.id))
            .limit(MAX_DEPTH)
        )
        return list(await self._database.all(query))

    async def messages_with(
        self, session_ids: Sequence[str], words: Sequence[str]
    ) -> list[EntryRow]:
        """Return messages of sessions whose stored text may contain every word, newest first.

        At most ten per session. Callers must check again: the column is JSON, in which a word may
        also be a key. Messages above 256 Ki characters, mostly images, are skipped.

        Args:
            words: words in lower case.
        """
        stored = func.lower(EntryRow.content)
        place = func.row_number().over(
            partition_by=col(EntryRow.session_id),
            order_by=(col(EntryRow.created_at).desc(), col(EntryRow.id).desc()),
        )
        matching = (
            select(EntryRow.id, place.label("place"))
            .where(
                col(EntryRow.session_id).in_(session_ids),
                col(EntryRow.role).in_(("user", "assistant")),
                func.length(EntryRow.content) <= _READ_CHARS,
                *(stored.like(_as_text(word), escape="/") for word in words),
            )
            .subquery()
        )
        query = (
            select(EntryRow)
            .join(matching, col(EntryRow.id) == matching.c.id)
            .where(matching.c.place <= _MATCHES)
            .order_by(col(EntryRow.created_at).desc(), col(EntryRow.id).desc())
        )
        return list(await self._database.all(query))

    async def path(self, session_id: str, leaf: str | None) -> list[EntryRow]:
        """Return the branch that ends in `leaf`, root first."""
        if leaf is None:
            return []
        place = {"leaf": leaf, "session_id": session_id, "depth": MAX_DEPTH}
        async with self._database.session() as session:
            return list((await session.exec(_BRANCH, params=place)).scalars().all())

    async def on_branches(self, leaves: Sequence[str], entries: Sequence[str]) -> set[str]:
        """Return those of `entries` on a branch that ends in one of `leaves`."""
        if not leaves or not entries:
            return set()
        up = (
            select(EntryRow.id, EntryRow.parent_id, literal(1).label("depth"))
            .where(col(EntryRow.id).in_(leaves))
            .cte("up", recursive=True)
        )
        up = up.union_all(
            select(EntryRow.id, EntryRow.parent_id, (up.c.depth + 1).label("depth")).where(
                EntryRow.id == up.c.parent_id, up.c.depth < MAX_DEPTH
            )
        )
        query = select(up.c.id).where(up.c.id.in_(entries))
        async with self._database.session() as session:
            return set((await session.exec(query)).all())

    async def runs(self, session_id: str, *, limit: int = 100) -> list[RunRow]:
        """Return runs, newest first."""
        query = (
            select(RunRow)
            .where(RunRow.session_id == session_id)
            .order_by(col(RunRow.started_at).desc())
            .limit(limit)
        )
        return list(await self._database.all(query))

    async def run(self, run_id: str) -> RunRow | None:
        async with self._database.session() as session:
            return await session.get(RunRow, run_id)

    async def calls(
        self, session_id: str, *, limit: int = 1000, after: str | None = None
    ) -> list[ToolCallRow]:
        """Return calls, oldest first. `after` is the last operation ID of the previous page."""
        query = (
            select(ToolCallRow)
            .where(ToolCallRow.session_id == session_id)
            .order_by(col(ToolCallRow.started_at), col(ToolCallRow.operation_id))
        )
        async with self._database.session() as session:
            last = await session.get(ToolCallRow, after) if after else None
            if last is not None and last.session_id == session_id:
                position = tuple_(col(ToolCallRow.started_at), col(ToolCallRow.operation_id))
                query = query.where(position > (last.started_at, last.operation_id))
            return list((await session.exec(query.limit(limit))).all())

    async def events(
        self, session_id: str, epoch: str, *, after: int, upto: int | None = None, limit: int = 1000
    ) -> list[tuple[int, bytes]]:
        """Return committed events with `after < seq <= upto`, as sent."""
        end = EVERY if upto is None else upto
        where = wanted(session_id, epoch, after=after, upto=end, most=limit)
        async with self._database.session() as session:
            rows = (await (await session.connection()).execute(_EVENTS, where)).all()
        events = unpack(rows, after=after, upto=end, most=limit)
        return [(event.seq, event.body) for event in events]

    async def events_of_kind(
        self, session_id: str, epoch: str, kind: str, *, after: int, limit: int
    ) -> list[tuple[int, bytes | None]]:
        """Return the `seq` of the next events, with the body of those of that type."""
        where = {**wanted(session_id, epoch, after=after, most=limit), "kind": kind}
        async with self._database.session() as session:
            rows = (await (await session.connection()).execute(_KINDS, where)).all()
        events = unpack(rows, after=after, upto=EVERY, most=limit)
        return [(event.seq, event.body if event.type == kind else None) for event in events]

    async def calls_of(self, session_id: str, operation_ids: Sequence[str]) -> list[ToolCallRow]:
        """Return those of the calls that belong to this session."""
        query = select(ToolCallRow).where(
            ToolCallRow.session_id == session_id, col(ToolCallRow.operation_id).in_(operation_ids)
        )
        return list(await self._database.all(query))

    async def confirmation(self, confirmation_id: str) -> ConfirmationRow | None:
        async with self._database.session() as session:
            return await session.get(ConfirmationRow, confirmation_id)

    async def artifact(self, artifact_id: str) -> ArtifactRow | None:
        async with self._database.session() as session:
            return await session.get(ArtifactRow, artifact_id)

    async def artifacts(self, session_id: str, *, limit: int = 200) -> list[ArtifactRow]:
        query = (
            select(ArtifactRow)
            .where(ArtifactRow.session_id == session_id)
            .order_by(col(ArtifactRow.created_at).desc())
            .limit(limit)
        )
        return list(await self._database.all(query))
