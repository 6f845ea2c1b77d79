"""Codes that link chat accounts: used once, in time, by whoever has them; links end by request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.channels.notifications.chat_answers import ChatLinks, link_code_in
from app.core.clock import ManualClock
from app.core.errors import NotFound
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditLog
from tests.support.database import new_database


class World:
    """Links over a database, and a clock that only tests advance."""

    def __init__(self, db: SqliteWriter) -> None:
        self.db = db
        self.clock = ManualClock()
        self.links = ChatLinks(db, self.clock, AuditLog(db, self.clock, Redactor()))

    async def fetch(self, sql: str) -> list[tuple[object, ...]]:
        return await self.db.transact(lambda transaction: transaction.fetch(sql))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    path = tmp_path / "data" / "tollgate.db"
    new_database(path)
    db = SqliteWriter(path)
    await db.start()
    yield World(db)
    await db.close()


async def test_a_code_works_once(world: World):
    made = await world.links.create_code("ann", "tok_1")

    wins = await asyncio.gather(
        *(world.links.redeem("telegram", str(sender), made.text) for sender in range(5))
    )
    (link,) = [win for win in wins if win is not None]
    assert (link.user_id, link.token_id) == ("ann", "tok_1")
    assert await world.links.of_user("ann") == [link]


async def test_a_code_ends_after_ten_minutes(world: World):
    made = await world.links.create_code("ann", None)
    world.clock.advance(600)

    assert await world.links.redeem("telegram", "7", made.text) is None
    assert await world.links.redeem("telegram", "7", "another-code-of-20-c") is None
    assert await world.links.find("telegram", "7") is None


async def test_only_digests_of_codes_are_stored_and_only_the_newest(world: World):
    codes = []
    for _ in range(7):
        codes.append((await world.links.create_code("ann", None)).text)
        world.clock.advance(1)
    others = await world.links.create_code("bob", None)

    rows = await world.fetch("SELECT * FROM notification_link_codes")
    assert len(rows) == 6
    assert not any(code in str(rows) for code in [*codes, others.text])
    audit = str(await world.fetch("SELECT * FROM audit"))
    assert not any(code in audit for code in codes)
    assert await world.links.redeem("slack", "T1:U1", codes[0]) is None
    assert await world.links.redeem("slack", "T1:U1", codes[-1]) is not None


async def test_a_new_link_replaces_the_former_one(world: World):
    for user_id in ("ann", "bob"):
        made = await world.links.create_code(user_id, None)
        assert await world.links.redeem("telegram", "7", made.text) is not None

    found = await world.links.find("telegram", "7")
    assert found is not None
    assert found.user_id == "bob"
    assert await world.links.of_user("ann") == []
    assert await world.links.find("slack", "7") is None
    kinds = await world.fetch("SELECT kind FROM audit ORDER BY seq")
    assert [kind for (kind,) in kinds] == [
        *("notification.link_code", "notification.link"),
        *("notification.link_code", "notification.unlink", "notification.link"),
    ]


async def test_a_link_is_ended_by_its_user_alone(world: World):
    made = await world.links.create_code("ann", None)
    link = await world.links.redeem("telegram", "7", made.text)
    assert link is not None

    with pytest.raises(NotFound):
        await world.links.remove(link.id, user_id="bob")
    assert await world.links.remove(link.id, user_id="ann") == link
    assert await world.links.find("telegram", "7") is None
    with pytest.raises(NotFound):
        await world.links.remove(link.id, user_id="ann")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/link abcDEF_-123", "abcDEF_-123"),
        (" link abcdefgh ", "abcdefgh"),
        ("/start abcdefgh", "abcdefgh"),
        ("/start", None),
        ("link short", None),
        ("please link abcdefgh", None),
        ("link abcdefgh now", None),
        ("", None),
    ],
)
def test_a_code_is_found_in_a_command_alone(text: str, code: str | None):
    assert link_code_in(text) == code
