"""Verification of the audit chain from first to last row, while it grows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import text

from app.db.engine import Database
from app.governance.audit.anchor import Anchor
from app.governance.audit.chain import COLUMNS, Break, ChainWalk

PAGE = 500
# One query, so that both ends of chain and table are from the same moment.
_ENDS = text(
    "SELECT h.seq, h.hash, h.first_seq, h.first_previous, (SELECT min(seq) FROM audit),"
    " (SELECT max(seq) FROM audit)"
    " FROM (SELECT 1 AS one) AS x LEFT JOIN audit_head AS h ON h.id = 1"
)
_ROWS = text(
    f"SELECT {COLUMNS} FROM audit WHERE seq >= :first AND seq <= :last"  # noqa: S608 - constants
    f" ORDER BY seq LIMIT {PAGE}"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a verification.

    Attributes:
        first_seq, last_seq: range of checked rows; both 0 if there are none.
        head: hash of the last row: worth storing elsewhere.
        anchors: number of compared external records.
        broken: first break of the chain.
    """

    first_seq: int
    last_seq: int
    head: str
    anchors: int
    broken: Break | None = None

    @property
    def ok(self) -> bool:
        return self.broken is None

    @property
    def rows(self) -> int:
        return self.last_seq - self.first_seq + 1 if self.last_seq else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the form for REST and the command line."""
        return {
            "ok": self.ok,
            "rows": self.rows,
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "head": self.head,
            "anchors": self.anchors,
            "broken": None if self.broken is None else asdict(self.broken),
        }


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both ends of the chain and the table, read in one query."""

    seq: int
    hash: str
    first_seq: int
    first_previous: str
    first_row: int
    last_row: int


async def verify(database: Database, anchors: Sequence[Anchor] = ()) -> Verification:
    """Verify every row once, one page at a time.

    Args:
        anchors: read before this call, so that none is newer than the rows.

    Raises:
        StorageUnavailable: the database is not readable.
    """
    while True:
        ends = await _ends(database)
        if not isinstance(ends, _Ends):
            return Verification(0, 0, "", 0, _beyond(0, anchors) or ends)
        check = _Check(ends, anchors)
        broken = await check.run(database)
        if broken is not None:
            now = await _ends(database)
            # Old rows were removed during the check: start again after them.
            if isinstance(now, _Ends) and now.first_seq > ends.first_seq:
                continue
        return check.result(broken)


class _Check:
    """One pass over the rows from `ends.first_seq` to `ends.seq`."""

    def __init__(self, ends: _Ends, anchors: Sequence[Anchor]) -> None:
        self._ends = ends
        self._walk = ChainWalk(ends.first_seq, ends.first_previous)
        self._anchors = {a.seq: a for a in anchors if a.seq >= ends.first_seq}

    async def run(self, database: Database) -> Break | None:
        ends, walk = self._ends, self._walk
        if ends.first_row < ends.first_seq:
            message = f"row {ends.first_row} precedes the start of the chain"
            return Break(ends.first_row, "audit_row_outside", message)
        if ends.last_row > ends.seq:
            message = f"row {ends.seq + 1} follows the end of the chain"
            return Break(ends.seq + 1, "audit_row_outside", message)
        while walk.next_seq <= ends.seq:
            rows = await _rows(database, walk.next_seq, ends.seq)
            if not rows:
                message = f"rows {walk.next_seq} to {ends.seq} are missing"
                return Break(walk.next_seq, "audit_row_missing", message)
            broken = await asyncio.to_thread(self._check, rows)
            if broken is not None:
                return broken
        return self._end()

    def _check(self, rows: Sequence[Sequence[Any]]) -> Break | None:
        broken = self._walk.check(rows)
        for row in rows:
            seq, digest = row[0], row[-1]
            if broken is not None and seq >= broken.seq:
                break
            anchor = self._anchors.get(seq)
            if anchor is not None and anchor.hash != digest:
                message = f"row {seq} differs from the head recorded at {anchor.noted_at}"
                return Break(seq, "audit_row_replaced", message)
        return broken

    def _end(self) -> Break | None:
        ends, walk = self._ends, self._walk
        if walk.previous != ends.hash:
            message = f"the chain head does not name row {ends.seq}"
            return Break(ends.seq, "audit_end_wrong", message)
        if ends.first_seq > 1 and walk.began != ends.first_seq:
            message = f"rows before {ends.first_seq} are missing, and no row records their deletion"
            return Break(ends.first_seq, "audit_beginning_unknown", message)
        return _beyond(ends.seq, self._anchors.values())

    def result(self, broken: Break | None) -> Verification:
        ends = self._ends
        last = ends.seq if ends.seq >= ends.first_seq else 0
        return Verification(
            ends.first_seq if last else 0, last, ends.hash, len(self._anchors), broken
        )


def _beyond(last: int, anchors: Any) -> Break | None:
    """Return the break for recorded rows that are missing."""
    newest = max(anchors, key=lambda anchor: anchor.seq, default=None)
    if newest is None or newest.seq <= last:
        return None
    return Break(
        last + 1,
        "audit_row_missing",
        f"rows {last + 1} to {newest.seq} are missing: recorded at {newest.noted_at}",
    )


async def _ends(database: Database) -> _Ends | Break | None:
    """Return both ends, or a break; None if there are no rows yet."""
    async with database.session() as session:
        connection = await session.connection()
        found = (await connection.execute(_ENDS)).one()
    seq, digest, first_seq, first_previous, first_row, last_row = found
    if seq is None:
        lost = Break(first_row, "audit_end_wrong", "the chain head is missing")
        return None if last_row is None else lost
    if not (isinstance(seq, int) and isinstance(first_seq, int)):
        return Break(
            1 if first_row is None else first_row,
            "audit_end_wrong",
            "the chain head is not a row of the chain",
        )
    begins = first_seq if first_row is None else first_row
    return _Ends(seq, str(digest), first_seq, str(first_previous), begins, last_row or 0)


async def _rows(database: Database, first: int, last: int) -> Sequence[Sequence[Any]]:
    async with database.session() as session:
        connection = await session.connection()
        return (await connection.execute(_ROWS, {"first": first, "last": last})).all()
