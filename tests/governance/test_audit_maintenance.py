"""The audit over time and between processes: anchors, retention, several writers, a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.core.clock import ManualClock
from app.core.redaction import Redactor
from app.db.engine import Database
from app.db.writer import SqliteWriter
from app.governance.audit import anchor as audit_anchor
from app.governance.audit.anchor import Anchor, AnchorFile
from app.governance.audit.log import PER_SOURCE, PER_WINDOW, WINDOW_S, AuditEntry, AuditLog
from app.governance.audit.maintenance import ANCHOR_ROWS, ANCHOR_S, AuditMaintenance
from app.governance.audit.verify import Verification, verify
from tests.support.source import ROOT

START = datetime(2026, 1, 1, tzinfo=UTC)
WRITER = """
import asyncio, sys
from pathlib import Path
from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditEntry, AuditLog

async def main(path, rows):
    db = SqliteWriter(Path(path))
    await db.start()
    audit = AuditLog(db, SystemClock(), Redactor())
    number = 0
    while number < rows:
        for _ in range(5):
            audit.record(AuditEntry("call.finished", actor="writer", detail={"n": number}))
            number += 1
        await db.flush_with_retry()
        print(number, flush=True)
    await db.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.fixture
def path(tmp_path: Path, template: Path) -> Path:
    copy = tmp_path / "tollgate.db"
    copy.write_bytes(template.read_bytes())
    return copy


class Office:
    """An audit whose clock stands still, and its maintenance."""

    def __init__(self, path: Path, days: int = 0) -> None:
        self.path = path
        self.clock = ManualClock(START)
        self.db = SqliteWriter(path)
        self.audit = AuditLog(self.db, self.clock, Redactor())
        self.anchors = AnchorFile(path.with_name("audit.anchor"))
        self.maintenance = AuditMaintenance(
            self.audit, self.db, self.clock, self.anchors, retention_days=days
        )

    async def __aenter__(self) -> Office:
        await self.db.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.db.close()

    async def check(self) -> Verification:
        return await check(self.path, self.anchors.read())


async def check(path: Path, anchors: list[Anchor] | None = None) -> Verification:
    database = Database(path)
    try:
        return await verify(database, anchors or [])
    finally:
        await database.close()


def kinds(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT kind FROM audit ORDER BY seq")]


# -- anchors ----------------------------------------------------------------------------


async def test_the_end_is_noted_after_a_while_or_many_rows(path: Path):
    async with Office(path) as office:
        await office.maintenance._look()
        assert office.anchors.read() == []
        office.audit.record(AuditEntry("a", actor="ann"))
        await office.maintenance._look()
        office.audit.record(AuditEntry("a", actor="ann"))
        await office.maintenance._look()
        assert [anchor.seq for anchor in office.anchors.read()] == [1]
        office.clock.advance(ANCHOR_S)
        await office.maintenance._look()
        assert [anchor.seq for anchor in office.anchors.read()] == [1, 2]
        for _ in range(ANCHOR_ROWS):
            office.audit.record(AuditEntry("a", actor="ann"))
        await office.maintenance._look()
        assert [anchor.seq for anchor in office.anchors.read()] == [1, 2, ANCHOR_ROWS + 2]
        await office.maintenance.close()
        assert len(office.anchors.read()) == 3
        assert (await office.check()).anchors == 3


def test_the_file_is_the_owner_s_alone_and_never_grows_beyond_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit_anchor, "MAX_BYTES", 1000)
    file = AnchorFile(tmp_path / "audit.anchor")
    for seq in range(1, 101):
        file.append(Anchor(seq, "0" * 64, "2026-01-01T00:00:00.000Z"))
    sizes = [(tmp_path / name).stat().st_size for name in ("audit.anchor", "audit.anchor.1")]
    assert max(sizes) < 1100
    assert (tmp_path / "audit.anchor").stat().st_mode & 0o777 == 0o600
    seqs = [anchor.seq for anchor in file.read()]
    assert seqs == list(range(seqs[0], 101))


def test_a_line_that_was_cut_in_the_middle_is_no_anchor(tmp_path: Path):
    file = AnchorFile(tmp_path / "audit.anchor")
    file.append(Anchor(1, "0" * 64, "2026-01-01T00:00:00.000Z"))
    with (tmp_path / "audit.anchor").open("ab") as raw:
        raw.write(b"2 0000")
    assert [anchor.seq for anchor in file.read()] == [1]


async def test_an_audit_that_cannot_be_anchored_goes_on(path: Path):
    async with Office(path) as office:
        path.with_name("audit.anchor").mkdir()
        office.audit.record(AuditEntry("a", actor="ann"))
        await office.maintenance.close()
        office.audit.record(AuditEntry("a", actor="ann"))
        await office.db.flush()
    assert kinds(path) == ["a", "a"]


# -- retention --------------------------------------------------------------------------


async def test_old_rows_go_and_the_rest_still_verifies(path: Path):
    async with Office(path, days=30) as office:
        for _ in range(1200):
            office.audit.record(AuditEntry("old", actor="ann"))
        office.clock.advance(31 * 86_400)
        for _ in range(3):
            office.audit.record(AuditEntry("new", actor="ann"))
        await office.maintenance.anchor()
        assert await office.maintenance.trim() == 1200
        assert await office.maintenance.trim() == 0
        found = await office.check()
        assert (found.ok, found.first_seq) == (True, 1201)
        assert kinds(path) == ["new"] * 3 + ["audit.trimmed"] * 3
        # The rows about removed rows grow old themselves.
        office.clock.advance(31 * 86_400)
        assert await office.maintenance.trim() == 6
        assert (await office.check()).ok
        assert kinds(path) == ["audit.trimmed"]


async def test_nothing_goes_while_retention_is_off(path: Path):
    async with Office(path, days=0) as office:
        office.audit.record(AuditEntry("old", actor="ann"))
        office.clock.advance(10_000 * 86_400)
        await office.maintenance._look()
        assert await office.maintenance.trim() == 0
    assert kinds(path) == ["old"]


async def test_a_broken_part_of_the_chain_is_kept_as_evidence(
    path: Path, caplog: pytest.LogCaptureFixture
):
    async with Office(path, days=30) as office:
        for _ in range(10):
            office.audit.record(AuditEntry("old", actor="ann"))
        await office.db.flush()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE audit SET actor = 'eve' WHERE seq = 5")
        office.clock.advance(31 * 86_400)
        assert await office.maintenance.trim() == 4
        assert "row 5 was changed" in caplog.text
        found = await office.check()
        assert found.broken is not None
        assert found.broken.seq == 5


async def test_rows_that_go_while_the_chain_is_checked_are_no_break(path: Path):
    async with Office(path, days=30) as office:
        for _ in range(3000):
            office.audit.record(AuditEntry("old", actor="ann"))
        office.clock.advance(31 * 86_400)
        office.audit.record(AuditEntry("new", actor="ann"))
        await office.db.flush()
        checks, _ = await asyncio.gather(
            asyncio.gather(*(office.check() for _ in range(4))), office.maintenance.trim()
        )
        assert [found.broken for found in checks] == [None] * 4


# -- several processes ------------------------------------------------------------------


def start_writer(path: Path, rows: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(rows)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_two_processes_write_one_chain(path: Path):
    writers = [start_writer(path, 500) for _ in range(2)]
    codes = [
        await asyncio.to_thread(writer.communicate) and writer.returncode for writer in writers
    ]
    assert codes == [0, 0]
    found = await check(path)
    assert (found.broken, found.rows) == (None, 1000)


async def test_a_kill_in_the_middle_of_writing_leaves_a_chain_that_holds(path: Path):
    promised = 0
    for _ in range(3):
        writer = start_writer(path, 10_000_000)
        assert writer.stdout is not None
        for _ in range(20):
            line = await asyncio.to_thread(writer.stdout.readline)
        writer.send_signal(signal.SIGKILL)
        rest = await asyncio.to_thread(writer.communicate)
        reported = [line, *rest[0].splitlines()]
        promised += int([text for text in reported if text.strip().isdecimal()][-1])
    found = await check(path)
    assert found.broken is None
    assert found.rows >= promised


# -- refusals ---------------------------------------------------------------------------


async def test_a_flood_of_refusals_leaves_few_rows_that_count_the_rest(path: Path):
    async with Office(path) as office:
        for _ in range(1000):
            office.audit.refused("192.0.2.1", reason="wrong token")
        for number in range(1000):
            office.audit.refused(f"192.0.2.{number}", reason="wrong token")
        office.clock.advance(WINDOW_S)
        office.audit.refused("192.0.2.1", reason="wrong token", detail={"prefix": "tg_abcde"})
        await office.db.flush()
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT subject, detail FROM audit ORDER BY seq").fetchall()
    assert len(rows) == PER_WINDOW + 1
    assert [row[0] for row in rows].count("192.0.2.1") == PER_SOURCE + 1
    assert sum(json.loads(row[1]).get("left_out", 0) for row in rows) == 2000 - PER_WINDOW
    assert json.loads(rows[-1][1])["prefix"] == "tg_abcde"
