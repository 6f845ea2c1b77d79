"""Past calls and confirmations, loaded to evaluate a change of the rules."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

import orjson
from sqlmodel import col, func, select

from app.catalog.catalog import Catalog
from app.core.errors import InvalidArguments, NotFound
from app.db.engine import Database
from app.db.tables import ConfirmationRow, SessionRow, ToolCallRow
from app.execution.context import Project
from app.execution.projects import DEFAULT_PROJECT, Projects
from app.policy.facts import CallFacts, never
from app.policy.risk.assess import assess_command
from app.policy.rules.dry_run import PastCall
from app.policy.rules.fatigue import DEFAULT_AGENT, AskedBefore, Fatigue, figures
from app.resolver.resolver import ResolvedToolset, Resolver
from app.toolkit.tool import Tool

MAX_QUESTIONS = 5_000


class RecordedArguments(Protocol):
    """Arguments and origin of a recorded call."""

    @property
    def arguments(self) -> str: ...
    @property
    def agent_id(self) -> str | None: ...
    @property
    def session_id(self) -> str: ...
    @property
    def run_id(self) -> str | None: ...


async def past_calls(
    database: Database, catalog: Catalog, resolver: Resolver, projects: Projects, last: int
) -> tuple[list[PastCall], int]:
    """Return the newest calls with a decision, and how many more cannot be evaluated again.

    Calls of removed tools, or with arguments that are no longer valid (for instance because a
    secret is masked), cannot be evaluated.
    """
    query = (
        select(ToolCallRow, SessionRow)
        .join(SessionRow, col(SessionRow.id) == col(ToolCallRow.session_id))
        .where(col(ToolCallRow.decision).is_not(None))
        .order_by(col(ToolCallRow.started_at).desc())
        .limit(last)
    )
    async with database.session() as session:
        rows = (await session.exec(query)).all()
    found = []
    for row, owner in rows:
        tool = catalog.tools.get(row.tool_name)
        if tool is None:
            continue
        project = workspace_of(projects, owner.project_id)
        resolved = resolver.resolve(row.agent_id)
        facts = recorded_facts(tool, row, resolved, project, owner.user_id)
        if facts is not None:
            found.append(PastCall(row.operation_id, facts, row.started_at))
    return found, len(rows) - len(found)


def recorded_facts(
    tool: Tool,
    row: RecordedArguments,
    resolved: ResolvedToolset,
    project: Project | None,
    user_id: str,
) -> CallFacts | None:
    """Return a recorded call as the policy sees it; None if its arguments no longer fit."""
    try:
        raw = orjson.loads(row.arguments)
        validated = tool.validate(row.arguments.encode())
    except (orjson.JSONDecodeError, InvalidArguments):
        return None
    if not isinstance(raw, dict):
        return None
    setting = resolved.states.get(tool.name)
    return CallFacts(
        tool,
        validated,
        raw,
        cwd=project.root if project else "/",
        is_released=project.releases if project else never,
        agent_id=row.agent_id,
        project_id=project.id if project else None,
        session_id=row.session_id,
        run_id=row.run_id,
        user_id=user_id,
        asks=tool.name in resolved.confirmation,
        asks_by=setting.asks_by if setting else None,
    )


def workspace_of(projects: Projects, project_id: str | None) -> Project | None:
    """Return a project, or the default one if it no longer exists."""
    for wanted in (project_id, DEFAULT_PROJECT):
        if wanted is None:
            continue
        try:
            return projects.get(wanted)
        except NotFound:
            continue
    return None


async def fatigue(database: Database, since: str) -> Fatigue:
    """Return how confirmations since a time (RFC 3339) were answered."""
    questions = (
        select(ConfirmationRow)
        .where(ConfirmationRow.created_at >= since, ConfirmationRow.status != "pending")
        .order_by(col(ConfirmationRow.created_at).desc())
        .limit(MAX_QUESTIONS)
    )
    async with database.session() as session:
        rows = (await session.exec(questions)).all()
        # Limited to the same period, even if more confirmations exist than are read.
        start = rows[-1].created_at if len(rows) == MAX_QUESTIONS else since
        agent = func.coalesce(ToolCallRow.agent_id, DEFAULT_AGENT)
        counting = select(agent, func.count()).group_by(agent)
        calls = (await session.exec(counting.where(ToolCallRow.started_at >= start))).all()
    return figures(map(_asked, rows), dict(calls))


def _asked(row: ConfirmationRow) -> AskedBefore:
    request = _object(row.request)
    rules = _object(request.get("risk")).get("rules")
    listed = rules if isinstance(rules, list) else []
    codes = tuple(str(rule["rule_id"]) for rule in listed if "rule_id" in _object(rule))
    return AskedBefore(
        row.tool_name,
        codes,
        row.status,
        _single(_object(request.get("subject"))),
        row.agent_id or DEFAULT_AGENT,
        _seconds(row) if row.status in ("approved", "declined") else None,
    )


def _seconds(row: ConfirmationRow) -> float | None:
    """Return how long a person took to answer."""
    if row.answered_at is None:
        return None
    asked, answered = map(datetime.fromisoformat, (row.created_at, row.answered_at))
    return max(0.0, (answered - asked).total_seconds())


def _single(subject: dict[str, Any]) -> tuple[str, ...]:
    """Return the words of a single simple command, otherwise nothing."""
    command = subject.get("command")
    if not isinstance(command, str):
        return ()
    report = assess_command(command)
    words = report.segments[0].argv if len(report.segments) == 1 and not report.opaque else ()
    return tuple(w for w in words if w is not None) if None not in words else ()


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {}
    return value if isinstance(value, dict) else {}
