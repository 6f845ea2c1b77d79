"""The newest calls with their answers, read for proposals of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import defer
from sqlmodel import col, select

from app.agents.decision_replay import recorded_facts, workspace_of
from app.catalog.catalog import Catalog
from app.db.engine import Database
from app.db.tables import ConfirmationRow, SessionRow, ToolCallRow
from app.execution.confirmation.options import APPROVE_ONCE
from app.execution.confirmation.step import UNATTENDED
from app.execution.context import Project
from app.execution.projects import Projects
from app.policy.proposals.history import AnsweredCall, Ending
from app.policy.rules.dry_run import PastCall
from app.resolver.resolver import ResolvedToolset, Resolver

_ENDINGS: Mapping[str, Ending] = {
    "approved": "approved",
    "declined": "declined",
    "expired": "unanswered",
    "cancelled": "unanswered",
}
_REFUSED = ("declined", "denied", "expired")


def _attribute(name: str) -> Any:
    return getattr(ConfirmationRow, name)


def _column(name: str) -> Any:
    return getattr(ToolCallRow, name)


# What a call returned is not needed here either.
_CALLS = (
    select(ToolCallRow, SessionRow, col(ToolCallRow.text) == UNATTENDED)
    .options(defer(_column("result")), defer(_column("text")))
    .join(SessionRow, col(SessionRow.id) == col(ToolCallRow.session_id))
    .order_by(col(ToolCallRow.started_at).desc(), col(ToolCallRow.operation_id).desc())
)
# Requests and kept calls are long, and not needed here.
_ENDS = defer(_attribute("request")), defer(_attribute("call"))


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """How one confirmation ended."""

    id: str
    operation_id: str
    status: str
    option_id: str | None
    answered_by: str | None
    answered_at: str | None
    is_edited: bool

    @classmethod
    def of(cls, row: ConfirmationRow) -> RecordedAnswer:
        return cls(
            *(row.id, row.operation_id, row.status, row.option_id),
            *(row.answered_by, row.answered_at, row.edited_args is not None),
        )


@dataclass(frozen=True, slots=True)
class CallRow:
    """Row of a call with its session and its newest confirmation.

    Attributes:
        is_unattended: refused because nobody was there to ask.
    """

    operation_id: str
    tool_name: str
    arguments: str
    status: str
    started_at: str
    agent_id: str | None
    run_id: str | None
    session_id: str
    project_id: str | None
    user_id: str
    answer: RecordedAnswer | None
    is_unattended: bool = False

    @classmethod
    def of(
        cls,
        call: ToolCallRow,
        owner: SessionRow,
        answer: RecordedAnswer | None,
        *,
        is_unattended: bool,
    ) -> CallRow:
        return cls(
            *(call.operation_id, call.tool_name, call.arguments, call.status, call.started_at),
            *(call.agent_id, call.run_id, call.session_id, owner.project_id, owner.user_id),
            answer,
            is_unattended,
        )


@dataclass(frozen=True, slots=True)
class Records:
    """The newest calls, newest first, and what is needed to decide them again.

    Attributes:
        catalog, resolved, projects: as they are now; by name, agent and project.
        position: newest call and answer.
    """

    calls: tuple[CallRow, ...]
    catalog: Catalog
    resolved: Mapping[str | None, ResolvedToolset]
    projects: Mapping[str | None, Project | None]
    newest_call: str
    newest_answer: str


async def read_records(
    database: Database, catalog: Catalog, resolver: Resolver, projects: Projects, last: int
) -> Records:
    """Read the newest calls with a decision. Deciding them is left to another thread."""
    wanted = _CALLS.where(col(ToolCallRow.decision).is_not(None)).limit(last)
    async with database.session() as session:
        rows = (await session.exec(wanted)).all()
        oldest = rows[-1][0].started_at if rows else ""
        asked = select(ConfirmationRow).where(ConfirmationRow.created_at >= oldest)
        asked = asked.order_by(col(ConfirmationRow.created_at)).options(*_ENDS)
        found = [RecordedAnswer.of(row) for row in (await session.exec(asked)).all()]
    answers = {answer.operation_id: answer for answer in found}
    calls = [
        CallRow.of(call, owner, answers.get(call.operation_id), is_unattended=bool(alone))
        for call, owner, alone in rows
    ]
    return _records(calls, catalog, resolver, projects)


async def read_refused(
    database: Database,
    catalog: Catalog,
    resolver: Resolver,
    projects: Projects,
    *,
    session_id: str,
    call_id: str,
) -> Records:
    """Read the newest refused call of a session with an ID of its caller; at most one."""
    wanted = _CALLS.where(
        ToolCallRow.session_id == session_id,
        ToolCallRow.tool_call_id == call_id,
        col(ToolCallRow.status).in_(_REFUSED),
    )
    async with database.session() as session:
        row = (await session.exec(wanted.limit(1))).first()
        if row is None:
            return _records([], catalog, resolver, projects)
        asked = select(ConfirmationRow).where(ConfirmationRow.operation_id == row[0].operation_id)
        newest = asked.order_by(col(ConfirmationRow.created_at).desc()).options(*_ENDS).limit(1)
        answer = (await session.exec(newest)).first()
    given = RecordedAnswer.of(answer) if answer else None
    call = CallRow.of(row[0], row[1], given, is_unattended=bool(row[2]))
    return _records([call], catalog, resolver, projects)


def _records(
    calls: Sequence[CallRow], catalog: Catalog, resolver: Resolver, projects: Projects
) -> Records:
    answers = [call.answer for call in calls if call.answer is not None]
    answered = [(a.answered_at, a.id) for a in answers if a.answered_at is not None]
    return Records(
        tuple(calls),
        catalog,
        {agent: resolver.resolve(agent) for agent in {call.agent_id for call in calls}},
        {key: workspace_of(projects, key) for key in {call.project_id for call in calls}},
        newest_call=calls[0].operation_id if calls else "",
        newest_answer=":".join(max(answered)) if answered else "",
    )


def recorded(records: Records) -> tuple[list[AnsweredCall], int]:
    """Return the calls, and how many have a tool or arguments that no longer fit."""
    found = [call for record in records.calls if (call := _recorded(record, records)) is not None]
    return found, len(records.calls) - len(found)


def _recorded(record: CallRow, records: Records) -> AnsweredCall | None:
    tool = records.catalog.tools.get(record.tool_name)
    if tool is None:
        return None
    resolved, project = records.resolved[record.agent_id], records.projects[record.project_id]
    facts = recorded_facts(tool, record, resolved, project, record.user_id)
    if facts is None:
        return None
    answer = record.answer
    ending = ending_of(record)
    return AnsweredCall(
        PastCall(record.operation_id, facts, record.started_at),
        ending,
        (answer.answered_at if answer else None) or record.started_at,
        record.project_id,
        answer.answered_by if answer else None,
        is_evidence=answer is not None
        and ending == "approved"
        and answer.option_id == APPROVE_ONCE
        and not answer.is_edited
        and bool(answer.answered_by),
    )


def ending_of(record: CallRow) -> Ending:
    """Return what became of a call, from its status and its newest confirmation."""
    if record.status == "declined":
        return "declined"
    answer = record.answer
    if answer is not None and answer.status in _ENDINGS:
        return _ENDINGS[answer.status]
    if record.is_unattended:
        return "unattended"
    return "denied" if record.status == "denied" else "unasked"
