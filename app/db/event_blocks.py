"""Lookup of a session's events without the cost of an index per event.

Events are appended in order of arrival, so a unique index by session puts each active session's
newest entry on a separate page: a commit of 64 events from 64 sessions wrote 64 pages, 17 µs per
event compared with 2 µs without the index. Instead, after every `BLOCK` events, one row per session
among them records their positions. A reader uses the blocks of its session, and scans the few
events not yet in a block (`docs/decisions/0015-event-blocks.md`).

A session's log ensures that `seq` has no gaps and no duplicates; it exists in one process
(`app.events.log`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from app.db.event_rows import Row, Stored, pack, unpack

Fetch = Callable[..., list[tuple[Any, ...]]]
BLOCK = 2048

_LAST = "SELECT max(position) FROM events"
_COVERED = "SELECT covers_to FROM event_blocks ORDER BY number DESC LIMIT 1"
_COVER = (
    "INSERT INTO event_blocks"
    " (session_id, epoch, first_seq, last_seq, first_position, last_position, covers_to)"
    " SELECT session_id, epoch, min(seq), max(seq + more), min(position), max(position), ?"
    " FROM events WHERE position > ? AND position <= ? GROUP BY session_id, epoch"
)
_UNCOVERED = "coalesce((SELECT covers_to FROM event_blocks ORDER BY number DESC LIMIT 1), 0)"
_MINE = "session_id = :session_id AND epoch = :epoch"
_WANTED = f"{_MINE} AND seq + more > :after AND seq <= :upto"
# The oldest events may have been deleted: a page is then counted from the first that remains.
_FIRST = (
    "SELECT min(seq) FROM ("  # noqa: S608
    f"SELECT min(first_seq) AS seq FROM event_blocks WHERE {_MINE} AND last_seq > :after"
    f" UNION ALL SELECT min(seq) FROM events WHERE position > {_UNCOVERED} AND {_WANTED}"
    ") AS firsts"
)
_PAGE = f":most + CASE WHEN ({_FIRST}) > :after THEN ({_FIRST}) ELSE :after END"
_BLOCKS = (
    f"SELECT first_position, last_position FROM event_blocks WHERE {_MINE}"  # noqa: S608
    f" AND last_seq > :after AND first_seq <= :upto AND first_seq <= {_PAGE}"
)

# Parameters: `wanted`. The rows that contain a page, possibly with more events at its ends.
READ = (
    "SELECT seq, types, body FROM ("  # noqa: S608
    f" SELECT e.seq, e.types, e.body FROM ({_BLOCKS}) AS b"
    "  JOIN events e ON e.position >= b.first_position AND e.position <= b.last_position"
    f"  WHERE {_WANTED} AND seq <= {_PAGE}"
    " UNION ALL SELECT seq, types, body FROM events"
    f"  WHERE position > {_UNCOVERED} AND {_WANTED} AND seq <= {_PAGE}"
    ") AS found ORDER BY seq LIMIT :most"
)
# Like READ, with the parameter `kind`: bodies only of rows that may contain events of that type.
READ_KIND = (
    "SELECT seq, types, CASE WHEN types LIKE '%' || :kind || '%' THEN body END"  # noqa: S608
    f" FROM ({READ}) AS page ORDER BY seq"
)
_OF_KINDS = (
    f"SELECT seq, types, body FROM ({READ}) AS page WHERE EXISTS"  # noqa: S608
    " (SELECT 1 FROM json_each(:kinds) WHERE instr(types, value) > 0) ORDER BY seq"
)
HEAD = (
    "SELECT max(head) FROM ("  # noqa: S608
    f" SELECT max(last_seq) AS head FROM event_blocks WHERE {_MINE}"
    f" UNION ALL SELECT max(seq + more) FROM events WHERE position > {_UNCOVERED} AND {_MINE}"
    ") AS heads"
)
EVERY = 2**62


def wanted(
    session_id: str, epoch: str, *, after: int = 0, upto: int = EVERY, most: int = EVERY // 2
) -> dict[str, Any]:
    """Return the parameters of a query for the first `most` events with `after < seq <= upto`."""
    return {
        "session_id": session_id,
        "epoch": epoch,
        "after": after,
        "upto": upto,
        "most": most,
    }


def store(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Return the due blocks, and the packed rows; `Statement.prepare` of the events."""
    last = fetch(_LAST)[0][0] or 0
    if last >= BLOCK:
        covered = fetch(_COVERED)
        start = covered[0][0] if covered else 0
        if last - start >= BLOCK:
            fetch(_COVER, (last, start, last))
    return pack(rows)


def head_of(fetch: Fetch, session_id: str, epoch: str) -> int:
    """Return the last `seq` of a session's log, 0 if it is empty; inside a transaction."""
    return fetch(HEAD, {"session_id": session_id, "epoch": epoch})[0][0] or 0


def events_of(fetch: Fetch, session_id: str, epoch: str, kinds: Collection[str]) -> list[Stored]:
    """Return a log's events of some types, in order; inside a transaction."""
    where = wanted(session_id, epoch)
    rows = fetch(_OF_KINDS, {**where, "kinds": json.dumps(list(kinds))})
    events = unpack(rows, after=0, upto=where["upto"], most=where["most"])
    return [event for event in events if event.type in kinds]
