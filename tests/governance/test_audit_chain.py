"""What a changed, removed, added or cut row looks like to whoever checks the chain."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.db.engine import Database
from app.db.writer import SqliteWriter, Transaction
from app.governance.audit.anchor import AnchorFile
from app.governance.audit.chain import COLUMNS, row_hash
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.audit.maintenance import AuditMaintenance
from app.governance.audit.verify import Verification, verify

ROWS = 20


@pytest.fixture
def path(tmp_path: Path, template: Path) -> Path:
    copy = tmp_path / "tollgate.db"
    copy.write_bytes(template.read_bytes())
    return copy


@asynccontextmanager
async def auditing(path: Path) -> AsyncIterator[tuple[AuditLog, AuditMaintenance]]:
    """An audit on that database; its end is noted when the block is left."""
    db = SqliteWriter(path)
    await db.start()
    audit = AuditLog(db, SystemClock(), Redactor())
    maintenance = AuditMaintenance(
        audit, db, SystemClock(), AnchorFile(path.with_suffix(".anchor"))
    )
    try:
        yield audit, maintenance
        await maintenance.close()
    finally:
        await db.close()


async def write(path: Path, rows: int = ROWS, *, actor: str = "ann") -> None:
    async with auditing(path) as (audit, _):
        for number in range(rows):
            audit.record(
                AuditEntry(
                    "call.finished",
                    actor=actor,
                    subject="s",
                    session_id="ses_1",
                    run_id="run_1",
                    agent_id="writer",
                    tool_name="bash",
                    operation_id=f"op_{number}",
                    verdict="allow",
                    outcome="success",
                    detail={"n": number},
                )
            )


async def checked(path: Path, *, with_anchors: bool = True) -> Verification:
    anchors = AnchorFile(path.with_suffix(".anchor")).read() if with_anchors else []
    database = Database(path)
    try:
        return await verify(database, anchors)
    finally:
        await database.close()


def tamper(path: Path, *statements: str) -> None:
    """What somebody does who can write to the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def rows_of(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {COLUMNS} FROM audit ORDER BY seq").fetchall()


async def test_a_chain_that_nobody_touched_holds(path: Path):
    await write(path)
    await write(path)
    found = await checked(path)
    rows = rows_of(path)
    assert [row[0] for row in rows] == list(range(1, 2 * ROWS + 1))
    assert found == Verification(1, 2 * ROWS, str(rows[-1][-1]), 2)


async def test_a_database_without_a_row_holds(path: Path):
    assert await checked(path) == Verification(0, 0, "", 0)


async def test_the_hash_can_be_computed_without_this_program(path: Path):
    await write(path, 3)
    for row in rows_of(path):
        *fields, previous, digest = row
        text = json.dumps([previous, *fields], separators=(",", ":"), ensure_ascii=False)
        assert sha256(text.encode()).hexdigest() == digest


@pytest.mark.parametrize("column", [c.strip() for c in COLUMNS.split(",") if c.strip() != "seq"])
async def test_a_flipped_byte_in_any_column_is_found(path: Path, column: str):
    await write(path)
    flipped = f"UPDATE audit SET {column} = '!' || substr({column}, 2) WHERE seq = 7"
    tamper(path, flipped)
    found = await checked(path, with_anchors=False)
    assert found.broken is not None
    assert found.broken.seq == 7


@pytest.mark.parametrize("value", ["NULL", "x'00ff'", "7", "''"])
async def test_a_value_of_another_type_is_found(path: Path, value: str):
    await write(path)
    tamper(path, f"UPDATE audit SET outcome = {value} WHERE seq = 7")
    found = await checked(path)
    assert found.broken is not None
    assert found.broken.seq == 7


@pytest.mark.parametrize(
    ("statements", "seq", "code"),
    [
        pytest.param(["DELETE FROM audit WHERE seq = 7"], 7, "audit_row_missing", id="deleted"),
        pytest.param(
            ["DELETE FROM audit WHERE seq = 1"], 1, "audit_row_missing", id="the first deleted"
        ),
        pytest.param(
            ["DELETE FROM audit WHERE seq BETWEEN 5 AND 9"],
            5,
            "audit_row_missing",
            id="several deleted",
        ),
        pytest.param(["DELETE FROM audit"], 1, "audit_row_missing", id="all deleted"),
        pytest.param(
            [
                "UPDATE audit SET seq = 99 WHERE seq = 7",
                "UPDATE audit SET seq = 7 WHERE seq = 8",
                "UPDATE audit SET seq = 8 WHERE seq = 99",
            ],
            7,
            "audit_row_changed",
            id="swapped",
        ),
        pytest.param(
            ["UPDATE audit SET seq = 99 WHERE seq = 7"],
            21,
            "audit_row_outside",
            id="moved to the end",
        ),
        pytest.param(
            [
                f"INSERT INTO audit ({COLUMNS}) SELECT 0, ts, kind, actor, subject, session_id,"
                " run_id, agent_id, tool_name, operation_id, verdict, outcome, detail, '', hash"
                " FROM audit WHERE seq = 7"
            ],
            0,
            "audit_row_outside",
            id="inserted before",
        ),
        pytest.param(["DELETE FROM audit WHERE seq > 15"], 16, "audit_row_missing", id="tail cut"),
        pytest.param(
            ["UPDATE audit_head SET seq = 15"], 16, "audit_row_outside", id="head put back"
        ),
        pytest.param(
            ["UPDATE audit_head SET seq = 25"], 21, "audit_row_missing", id="head put ahead"
        ),
        pytest.param(
            ["UPDATE audit_head SET hash = 'x'"], 20, "audit_end_wrong", id="head's hash changed"
        ),
        pytest.param(
            ["UPDATE audit_head SET seq = 'x'"], 1, "audit_end_wrong", id="head is no place"
        ),
        pytest.param(
            ["UPDATE audit_head SET first_seq = 5"], 1, "audit_row_outside", id="beginning moved"
        ),
        pytest.param(["DELETE FROM audit_head"], 1, "audit_end_wrong", id="head deleted"),
    ],
)
async def test_a_row_taken_away_moved_or_added_is_found(
    path: Path, statements: list[str], seq: int, code: str
):
    await write(path)
    tamper(path, *statements)
    found = await checked(path, with_anchors=False)
    assert found.broken is not None
    assert (found.broken.seq, found.broken.code) == (seq, code)
    # Writing on heals nothing.
    await write(path, 3)
    assert not (await checked(path, with_anchors=False)).ok


CUT = [
    "DELETE FROM audit WHERE seq > 15",
    "UPDATE audit_head SET seq = 15, hash = (SELECT hash FROM audit WHERE seq = 15)",
]


async def test_a_tail_that_was_cut_together_with_the_head_is_found_by_the_anchor(path: Path):
    await write(path)
    tamper(path, *CUT)
    assert (await checked(path, with_anchors=False)).ok
    found = await checked(path)
    assert found.broken is not None
    assert found.broken.seq == 16
    assert "rows 16 to 20 are missing" in found.broken.why


async def test_other_rows_in_the_place_of_a_cut_tail_are_found_by_the_anchor(path: Path):
    await write(path)
    tamper(path, *CUT)
    await write(path, 8, actor="eve")
    assert (await checked(path, with_anchors=False)).ok
    found = await checked(path)
    assert found.broken is not None
    assert found.broken.seq == 20


async def test_an_emptied_audit_is_found_by_the_anchor(path: Path):
    await write(path)
    tamper(path, "DELETE FROM audit", "DELETE FROM audit_head")
    found = await checked(path)
    assert found.broken is not None
    assert found.broken.seq == 1


async def test_a_beginning_that_was_cut_with_the_head_is_missed_without_a_row_that_says_so(
    path: Path,
):
    await write(path)
    tamper(
        path,
        "UPDATE audit_head SET first_seq = 6,"
        " first_previous = (SELECT previous FROM audit WHERE seq = 6)",
        "DELETE FROM audit WHERE seq < 6",
    )
    found = await checked(path, with_anchors=False)
    assert found.broken is not None
    assert found.broken.seq == 6


async def test_checking_works_while_rows_are_being_written(path: Path):
    async with auditing(path) as (audit, maintenance):
        for _ in range(5):
            for _ in range(700):
                audit.record(AuditEntry("call.finished", actor="ann"))
            await maintenance.anchor()
            assert (await checked(path)).ok
    assert (await checked(path)).rows == 3500


async def test_a_row_within_a_change_is_kept_or_lost_with_it(path: Path):
    async with auditing(path) as (audit, _):

        def change(transaction: Transaction) -> None:
            audit.within(
                transaction, AuditEntry("governance.rule", actor="ann", before={"a": 1}, after=None)
            )

        def fails(transaction: Transaction) -> None:
            change(transaction)
            raise ValueError("no")

        db = audit._db
        audit.record(AuditEntry("call.finished", actor="ann"))
        await db.transact(change)
        with pytest.raises(ValueError, match="no"):
            await db.transact(fails)
        audit.record(AuditEntry("call.finished", actor="ann"))
    assert [row[2] for row in rows_of(path)] == [
        "call.finished",
        "governance.rule",
        "call.finished",
    ]
    assert (await checked(path)).ok


texts = st.text(max_size=20) | st.sampled_from(["\ud800", "\x00", "\u2028", "é", '"\\'])


@given(previous=st.text("0123456789abcdef", max_size=8), cells=st.lists(texts, max_size=6))
def test_the_encoding_is_that_of_plain_json(previous: str, cells: list[str]):
    cells = [cell.encode("utf-8", "replace").decode() for cell in cells]
    text = json.dumps([previous, 1, *cells], separators=(",", ":"), ensure_ascii=False)
    assert row_hash(previous, (1, *cells)) == sha256(text.encode()).hexdigest()


async def test_whatever_is_in_a_row_the_chain_holds(path: Path):
    odd = ["\ud800", "\x00", "\u2028", "é", 2**70, float("nan"), object(), {1: b"\xff"}]
    async with auditing(path) as (audit, _):
        for value in odd:
            audit.record(
                AuditEntry("governance.tool", actor="a\ud800", before=value, after=[value])
            )
    assert (await checked(path)).rows == len(odd)
