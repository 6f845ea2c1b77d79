"""A session's events are found by blocks, wherever they lie among everybody's."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.agents.session_queries import SessionQueries
from app.db import event_blocks
from app.db.engine import Database
from app.db.event_blocks import events_of, head_of
from app.db.event_rows import one
from app.db.statements import ADD_EVENT
from app.db.writer import SqliteWriter
from tests.support.database import new_database

TS = "2026-01-01T00:00:00.000Z"
KINDS = ("even", "odd_one")
BLOCK = 60


@pytest.fixture
async def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(event_blocks, "BLOCK", BLOCK)
    path = tmp_path / "tollgate.db"
    new_database(path)
    return path


@pytest.fixture
async def archive(path: Path) -> AsyncIterator[SessionQueries]:
    database = Database(path)
    yield SessionQueries(database)
    await database.close()


def body_of(session: str, seq: int) -> bytes:
    return f"{session}:{seq}".encode() * (seq % 50)


def kind_of(seq: int) -> str:
    return KINDS[seq % 2]


async def write(path: Path, lengths: dict[str, int], *, seed: int, each: float = 0.02) -> None:
    """Sessions of these lengths, interleaved, in commits of random sizes.

    `each` is the chance that an event ends its commit.
    """
    dice = random.Random(seed)
    order = [session for session, length in lengths.items() for _ in range(length)]
    dice.shuffle(order)
    seqs = dict.fromkeys(lengths, 0)
    db = SqliteWriter(path)
    await db.start()
    for session in order:
        seqs[session] += 1
        seq = seqs[session]
        db.append(ADD_EVENT, one(session, "ep", seq, kind_of(seq), TS, body_of(session, seq)))
        if dice.random() < each:
            await db.flush()
    await db.close()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("each", [0.01, 0.2, 1])
async def test_every_page_of_every_session_is_whole_and_in_order(
    path: Path, archive: SessionQueries, seed: int, each: float
):
    dice = random.Random(seed)
    lengths = {f"ses_{n}": dice.choice((0, 1, 7, 100, 400)) for n in range(6)}
    await write(path, lengths, seed=seed, each=each)
    for session, length in lengths.items():
        for limit in (1, 50, 5000):
            after = dice.randrange(length + 1)
            got = await archive.events(session, "ep", after=after, limit=limit)
            seqs = range(after + 1, min(length, after + limit) + 1)
            assert got == [(seq, body_of(session, seq)) for seq in seqs]
            odd = await archive.events_of_kind(session, "ep", "odd_one", after=after, limit=limit)
            assert odd == [
                (seq, body_of(session, seq) if kind_of(seq) == "odd_one" else None) for seq in seqs
            ]
        upto = await archive.events(session, "ep", after=0, upto=5, limit=100)
        assert [seq for seq, _ in upto] == list(range(1, min(5, length) + 1))
        assert await archive.events(session, "another", after=0) == []


async def test_what_one_commit_brings_of_a_session_is_few_rows(path: Path):
    await write(path, {"ses_a": 200, "ses_b": 200}, seed=1, each=0)
    with closing(sqlite3.connect(path)) as raw:
        rows = raw.execute("SELECT session_id, sum(more + 1), count(*) FROM events GROUP BY 1")
        assert [(name, events) for name, events, count in rows if count < 20] == [
            ("ses_a", 200),
            ("ses_b", 200),
        ]


async def test_what_no_block_covers_yet_is_found_too(path: Path):
    await write(path, {"ses_a": BLOCK - 1, "ses_b": BLOCK + 17}, seed=9, each=1)
    with closing(sqlite3.connect(path)) as raw:

        def fetch(sql: str, row: Any = ()) -> list[tuple[Any, ...]]:
            return raw.execute(sql, row).fetchall()

        blocks = fetch("SELECT covers_to FROM event_blocks")
        last = fetch("SELECT max(position) FROM events")[0][0]
        assert blocks
        assert max(row[0] for row in blocks) < last
        assert head_of(fetch, "ses_a", "ep") == BLOCK - 1
        assert head_of(fetch, "ses_b", "ep") == BLOCK + 17
        assert head_of(fetch, "ses_c", "ep") == 0
        events = events_of(fetch, "ses_b", "ep", ("other", *KINDS))
        assert [event.seq for event in events] == list(range(1, BLOCK + 18))
        odd = events_of(fetch, "ses_b", "ep", ("other", "odd_one"))
        assert [event.seq for event in odd] == list(range(1, BLOCK + 18, 2))
        assert {event.body for event in odd} <= {body_of("ses_b", event.seq) for event in odd}
        assert events_of(fetch, "ses_b", "ep", ("other", "odd")) == []


@pytest.mark.parametrize("left", ["in blocks", "in no block"])
async def test_a_page_begins_with_the_first_event_that_is_left(
    path: Path, archive: SessionQueries, left: str
):
    await write(path, {"ses_a": 4 * BLOCK}, seed=3, each=1)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        covered = raw.execute("SELECT max(covers_to) FROM event_blocks").fetchone()[0]
        gone = covered if left == "in no block" else 2 * BLOCK
        raw.execute("DELETE FROM events WHERE position <= ?", (gone,))
        raw.execute("DELETE FROM event_blocks WHERE last_position <= ?", (gone,))
    got = await archive.events("ses_a", "ep", after=0, limit=10)
    assert [seq for seq, _ in got] == list(range(gone + 1, gone + 11))
