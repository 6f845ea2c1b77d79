"""Read-only queries of confirmations and grants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import orjson
from sqlalchemy import func, or_, tuple_
from sqlmodel import col, select

from app.db.approval_tables import ConfirmationGroupRow
from app.db.engine import Database
from app.db.tables import ConfirmationRow, GrantRow, SessionRow, ToolCallRow
from app.governance.identity.token_rules import DEFAULT_AGENT

Asked = Counter[str]


@dataclass(slots=True)
class ConfirmationCounts:
    """Confirmations by outcome: in total, by tool and by reason."""

    asked: int = 0
    calls: int = 0
    tools: dict[str, Asked] = field(default_factory=dict)
    reasons: dict[str, Asked] = field(default_factory=dict)

    def count(self, tool_name: str, status: str, request: str) -> None:
        self.asked += 1
        self.tools.setdefault(tool_name, Counter())[status] += 1
        rules = orjson.loads(request)["risk"]["rules"]
        for reason in {rule["rule_id"] for rule in rules}:
            self.reasons.setdefault(reason, Counter())[status] += 1


@dataclass(frozen=True, slots=True)
class ConfirmationFilter:
    """Filter for confirmations; None matches all.

    Attributes:
        owners: owners of the sessions.
        groups: approver groups; also matches what they may answer since before `now`.
        agents, projects: visible agents and projects.
    """

    state: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    owners: Collection[str] | None = None
    groups: Collection[str] = ()
    now: float = 0.0
    agents: Collection[str] | None = None
    projects: Collection[str] | None = None


class ConfirmationArchive:
    """Queries over stored confirmations and grants. Every list is bounded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def confirmations(
        self, wanted: ConfirmationFilter, *, limit: int, before: str | None
    ) -> list[ConfirmationRow]:
        """Return a page, newest first. `before` is the last ID of the previous page."""
        order = (col(ConfirmationRow.created_at).desc(), col(ConfirmationRow.id).desc())
        query = (
            select(ConfirmationRow)
            .join(SessionRow, col(SessionRow.id) == col(ConfirmationRow.session_id))
            .order_by(*order)
        )
        if wanted.state is not None:
            query = query.where(ConfirmationRow.status == wanted.state)
        if wanted.session_id is not None:
            query = query.where(ConfirmationRow.session_id == wanted.session_id)
        if wanted.agent_id is not None:
            query = query.where(ConfirmationRow.agent_id == wanted.agent_id)
        if wanted.owners is not None:
            addressed = select(ConfirmationGroupRow.confirmation_id).where(
                col(ConfirmationGroupRow.confirmation_id) == col(ConfirmationRow.id),
                col(ConfirmationGroupRow.group_id).in_(wanted.groups),
                col(ConfirmationGroupRow.active_at) <= wanted.now,
            )
            own = col(SessionRow.user_id).in_(wanted.owners)
            query = query.where(or_(own, addressed.exists()) if wanted.groups else own)
        if wanted.agents is not None:
            agent = func.coalesce(SessionRow.agent_id, DEFAULT_AGENT)
            query = query.where(agent.in_(wanted.agents))
        if wanted.projects is not None:
            query = query.where(col(SessionRow.project_id).in_(wanted.projects))
        async with self._database.session() as session:
            last = await session.get(ConfirmationRow, before) if before else None
            if last is not None:
                position = tuple_(col(ConfirmationRow.created_at), col(ConfirmationRow.id))
                query = query.where(position < (last.created_at, last.id))
            return list((await session.exec(query.limit(limit))).all())

    async def confirmation(self, confirmation_id: str) -> ConfirmationRow | None:
        async with self._database.session() as session:
            return await session.get(ConfirmationRow, confirmation_id)

    async def call(self, operation_id: str) -> ToolCallRow | None:
        """Return the outcome of the call that the confirmation was about."""
        async with self._database.session() as session:
            return await session.get(ToolCallRow, operation_id)

    async def grants(
        self, *, tool_name: str | None, scope: str | None, limit: int, before: str | None
    ) -> list[GrantRow]:
        """Return a page, newest first, including ended grants."""
        query = select(GrantRow).order_by(col(GrantRow.created_at).desc(), col(GrantRow.id).desc())
        if tool_name is not None:
            query = query.where(GrantRow.tool_name == tool_name)
        if scope is not None:
            query = query.where(GrantRow.scope == scope)
        async with self._database.session() as session:
            last = await session.get(GrantRow, before) if before else None
            if last is not None:
                position = tuple_(col(GrantRow.created_at), col(GrantRow.id))
                query = query.where(position < (last.created_at, last.id))
            return list((await session.exec(query.limit(limit))).all())

    async def figures(self, latest: int) -> ConfirmationCounts:
        """Return statistics of the latest confirmations."""
        query = (
            select(
                ConfirmationRow.tool_name,
                ConfirmationRow.status,
                ConfirmationRow.request,
                ConfirmationRow.created_at,
            )
            .order_by(col(ConfirmationRow.created_at).desc(), col(ConfirmationRow.id).desc())
            .limit(latest)
        )
        figures = ConfirmationCounts()
        async with self._database.session() as session:
            rows = list((await session.exec(query)).all())
            for tool_name, status, request, _ in rows:
                figures.count(tool_name, status, request)
            if rows:
                since = col(ToolCallRow.started_at) >= rows[-1][3]
                calls = select(func.count()).select_from(ToolCallRow).where(since)
                figures.calls = (await session.exec(calls)).one()
        return figures

    async def grant(self, grant_id: str) -> GrantRow | None:
        async with self._database.session() as session:
            return await session.get(GrantRow, grant_id)
