"""Words in stored sessions: the user's own, of the same agent and project, and nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal

import pytest

from app.agents.session_search import StoredSessions
from app.agents.sessions import Session
from app.config.settings import Settings
from app.db.engine import Database
from app.domain.history import FoundMessage, Visitor
from tests.execution.lab import Lab, bare_lab

Role = Literal["user", "assistant", "tool"]


@pytest.fixture
async def lab(settings: Settings) -> AsyncIterator[Lab]:
    async with bare_lab(settings) as lab:
        yield lab


async def say(lab: Lab, session: Session, role: Role, text: str) -> None:
    lab.sessions.append(session, role, [{"type": "text", "text": text}], run_id=None)
    await lab.runtime.db.flush()


async def found(
    lab: Lab, query: str, *, user_id: str = "ann", limit: int = 10, **visitor: str
) -> Sequence[FoundMessage]:
    database = Database(lab.runtime.settings.database_path)
    try:
        wanted = Visitor(user_id, **visitor)
        return await StoredSessions(database).search(query.split(), wanted, limit=limit)
    finally:
        await database.close()


async def test_a_message_is_found_with_its_session_and_what_stands_around_it(lab: Lab):
    lab.sessions.rename(lab.session, "Bread")
    await say(lab, lab.session, "assistant", "x" * 300 + ' the "Sourdough\n\tstarter" ' + "y" * 300)
    (row,) = await found(lab, 'sourDOUGH "')
    assert (row.session_id, row.title, row.role) == (lab.session.id, "Bread", "assistant")
    assert '"Sourdough starter"' in row.excerpt
    assert row.excerpt.startswith("…")
    assert len(row.excerpt) < 250
    assert await found(lab, "sourdough rye") == []


async def test_titles_come_first_and_chinese_is_found(lab: Lab):
    lab.sessions.rename(lab.session, "Dough")
    await say(lab, lab.session, "user", "怎么做面包")
    titled = lab.sessions.create(user_id="ann", title="面包店")
    await lab.runtime.db.flush()
    rows = await found(lab, "面包")
    assert [(row.session_id, row.role) for row in rows] == [
        (titled.id, None),
        (lab.session.id, "user"),
    ]
    assert len(await found(lab, "面包", limit=1)) == 1


async def test_nothing_of_another_user_agent_or_project_is_found(lab: Lab):
    title = "secret plan"
    for session in (
        lab.sessions.create(title=title, user_id="bob"),
        lab.sessions.create(title=title, user_id="ann", agent_id="other"),
        lab.sessions.create(title=title, user_id="ann", project_id="other"),
    ):
        await say(lab, session, "user", "the secret plan")
    assert await found(lab, "secret") == []
    assert len(await found(lab, "secret", user_id="bob")) == 2
    assert len(await found(lab, "secret", agent_id="other")) == 2
    assert len(await found(lab, "secret", project_id="other")) == 2
    assert await found(lab, "secret", user_id="%") == []


async def test_the_session_of_the_call_is_left_out(lab: Lab):
    await say(lab, lab.session, "user", "needle")
    assert await found(lab, "needle", session_id=lab.session.id) == []


@pytest.mark.parametrize("query", ["%", "_", "text", "type", "tool_use", "\\", "' OR 1=1 --"])
async def test_wildcards_and_the_way_messages_are_stored_find_nothing(lab: Lab, query: str):
    await say(lab, lab.session, "user", "plain words")
    await say(lab, lab.session, "tool", query)
    assert await found(lab, query) == []
