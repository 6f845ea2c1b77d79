"""Hash chain of the audit: each row's hash covers the row and the previous hash.

Rows are linked inside the committing transaction, so any number of processes on one database
continue one chain. Later writes never repair tampering: the next row shows the break permanently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from app.core.text import clean
from app.db.event_blocks import Fetch
from app.db.statements import insert
from app.db.writer import Transaction

Row = Sequence[Any]

# Kind of the row that records how many older rows were removed.
TRIMMED = "audit.trimmed"

COLUMNS = (
    "seq, ts, kind, actor, subject, session_id, run_id, agent_id, tool_name, operation_id,"
    " verdict, outcome, detail, previous, hash"
)
# The audit row of a call is written after the events it refers to.
_ORDER = 80
_HEAD = "SELECT seq, hash, (SELECT max(seq) FROM audit) FROM audit_head WHERE id = 1"
_LAST = "SELECT max(seq) FROM audit"
# RETURNING makes it a query, and a statement's `prepare` may only run queries.
_MOVE = (
    "INSERT INTO audit_head (id, seq, hash, first_seq, first_previous) VALUES (1, ?, ?, 1, '')"
    " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash RETURNING seq"
)


def row_hash(previous: str, fields: Sequence[Any]) -> str:
    """Return the SHA-256 of the compact JSON array of `previous` and the row's columns in order.

    Args:
        fields: `seq` to `detail`, in the order of `COLUMNS`.
    """
    return _digest([previous, *fields])


def _digest(cells: list[Any]) -> str:
    return sha256(orjson.dumps(cells, default=repr)).hexdigest()


def link(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Return rows (`ts` to `detail`) with their links, and advance the head."""
    seq, previous = _end(fetch)
    linked: list[Row] = []
    for row in rows:
        seq += 1
        cells = [previous, seq, *row]
        try:
            digest = _digest(cells)
        except orjson.JSONEncodeError:
            cells[2:] = [clean(cell) if isinstance(cell, str) else cell for cell in row]
            digest = _digest(cells)
        linked.append((*cells[1:], previous, digest))
        previous = digest
    fetch(_MOVE, (seq, previous))
    return linked


def _end(fetch: Fetch) -> tuple[int, str]:
    """Return where the chain continues. Heads that disagree leave a permanent break."""
    head = fetch(_HEAD)
    if not head:
        return fetch(_LAST)[0][0] or 0, ""
    seq, digest, last = head[0]
    if not isinstance(seq, int):
        return last or 0, ""
    if last is None or last == seq:
        return seq, digest
    return max(seq, last), ""


ADD_AUDIT = insert(_ORDER, "audit", COLUMNS, prepare=link)


def add_within(transaction: Transaction, row: Row) -> None:
    """Append one row (`ts` to `detail`) within a transaction."""
    for linked in link(transaction.fetch, [row]):
        transaction.execute(ADD_AUDIT.sql, linked)


@dataclass(frozen=True, slots=True)
class Break:
    """First break of the chain; `code` is for programs, `why` for people."""

    seq: int
    code: str
    why: str


class ChainWalk:
    """Sequential check of rows, in constant memory.

    Attributes:
        next_seq: sequence number of the next row.
        previous: hash that the next row must refer to.
        began: start of the chain, according to the last row about removed rows.
    """

    def __init__(self, first_seq: int, first_previous: str) -> None:
        self.next_seq = first_seq
        self.previous = first_previous
        self.began: int | None = None

    def check(self, rows: Iterable[Row]) -> Break | None:
        """Return the first break in `rows`; None if all are linked."""
        for row in rows:
            found = self._check(row)
            if found is not None:
                return found
        return None

    def _check(self, row: Row) -> Break | None:
        *fields, previous, digest = row
        seq = fields[0]
        if seq != self.next_seq:
            why = f"row {self.next_seq} is missing; row {seq} follows"
            return Break(self.next_seq, "audit_row_missing", why)
        if row_hash(str(previous), fields) != digest:
            return Break(
                seq, "audit_row_changed", f"row {seq} was changed: it does not match its hash"
            )
        if previous != self.previous:
            return Break(seq, "audit_row_unlinked", f"row {seq} does not follow the previous row")
        self.next_seq, self.previous = seq + 1, digest
        if fields[2] == TRIMMED:
            self.began = orjson.loads(fields[12])["first_seq"]
        return None
