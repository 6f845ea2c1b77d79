"""What one commit brings of a session's events is one row.

A row of its own costs the writer 3 µs an event, its share of a row of many less than half
of that: a busy session's events come in dozens, and those of a call at least in pairs. The
bodies stand one to a line, as JSON has no line ends of its own, and their types beside them.

A row is `(session_id, epoch, seq, more, types, ts, body)`: `seq` and `ts` are the first
event's, `more` is how many follow it without a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Row = Sequence[Any]
COLUMNS = "session_id, epoch, seq, more, types, ts, body"
MOST_EVENTS = 32
MOST_BYTES = 16 << 10


class Stored(NamedTuple):
    """One event as it was sent; an empty body where the reader asked for other types only."""

    seq: int
    type: str
    body: bytes


def one(session_id: str, epoch: str, seq: int, kind: str, ts: str, body: bytes) -> Row:
    """The row of a single event. `kind` has no blank in it."""
    return (session_id, epoch, seq, 0, kind, ts, body)


def pack(rows: list[Row]) -> list[Row]:
    """Rows of single events in their order as fewer rows of many; each session's order stays."""
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
    """Rows of one session. What would not come apart again as it was stays by itself."""
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
    """The first `most` events with `after < seq <= upto` of rows of `(seq, types, body)`.

    Args:
        rows: one session's, in order. A row without a body gives events without one.
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
