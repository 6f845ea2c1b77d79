"""Rows of events: one row for each commit of a session.

A separate row per event costs the writer 3 µs, a share of a common row less than half: an active
session's events come in dozens, and those of a call at least in pairs. Bodies are stored one per
line, since JSON has no line breaks, next to their types.

A row is `(session_id, epoch, seq, more, types, ts, body)`: `seq` and `ts` are those of the first
event, `more` is the number of following ones without a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Row = Sequence[Any]
COLUMNS = "session_id, epoch, seq, more, types, ts, body"
MOST_EVENTS = 32
MOST_BYTES = 16 << 10


class Stored(NamedTuple):
    """One event as sent; the body is empty if the reader requested only other types."""

    seq: int
    type: str
    body: bytes


def one(session_id: str, epoch: str, seq: int, kind: str, ts: str, body: bytes) -> Row:
    """Return the row of a single event. `kind` contains no blank."""
    return (session_id, epoch, seq, 0, kind, ts, body)


def pack(rows: list[Row]) -> list[Row]:
    """Combine rows of single events into fewer rows; each session's order is preserved."""
    sessions: dict[Row, list[Row]] = {}
    for row in rows:
        place = row[:2]
        if place in sessions:
            sessions[place].append(row)
        else:
            sessions[place] = [row]
    if len(sessions) == len(rows):
        return rows
    return [packed for events in sessions.values() for packed in _packed(events)]


def _packed(events: list[Row]) -> Iterator[Row]:
    """Yield rows of one session. Events that could not be restored exactly stay separate."""
    part: list[Row] = []
    size, following = 0, 0
    for row in events:
        seq, body = row[2], row[6]
        size += len(body)
        if part and (
            seq != following or len(part) == MOST_EVENTS or size > MOST_BYTES or b"\n" in body
        ):
            yield _joined(part)
            part, size = [], len(body)
        part.append(row)
        following = -1 if b"\n" in body else seq + 1
    yield _joined(part)


def _joined(part: list[Row]) -> Row:
    first = part[0]
    if len(part) == 1:
        return first
    types = " ".join([row[4] for row in part])
    body = b"\n".join([row[6] for row in part])
    return (*first[:3], len(part) - 1, types, first[5], body)


def unpack(rows: Iterable[Row], *, after: int, upto: int, most: int) -> list[Stored]:
    """Return the first `most` events with `after < seq <= upto` of rows of `(seq, types, body)`.

    Args:
        rows: rows of one session, in order. A row without a body gives events without one.
    """
    found: list[Stored] = []
    for first, types, body in rows:
        kinds = types.split(" ")
        if body is None:
            bodies = [b""] * len(kinds)
        else:
            bodies = [body] if len(kinds) == 1 else body.split(b"\n")
        for seq, (kind, line) in enumerate(zip(kinds, bodies, strict=True), first):
            if after < seq <= upto:
                if len(found) == most:
                    return found
                found.append(Stored(seq, kind, line))
    return found
