"""Finding a session's events without an index that every event pays for.

Events are appended in the order they come, so a unique index by session puts each busy
session's newest entry on a page of its own: a commit of 64 events from 64 sessions wrote 64
pages, 17 µs an event against 2 µs without the index. Instead, whenever `BLOCK` events have
gathered, one row per session that is among them says where they lie. A reader looks at
the blocks of its session, and through the few events that no block covers yet
(`docs/decisions/0015-event-blocks.md`).

That a session's `seq` has no holes and no doubles is the doing of its log, which lives in
one process (`app.events.log`).
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
# The oldest events may have been let go: a page is then counted from the first that is left.
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

# Parameters: `wanted`. The rows that hold a page, and at its ends perhaps more than the page.
READ = (
    "SELECT seq, types, body FROM ("  # noqa: S608
    f" SELECT e.seq, e.types, e.body FROM ({_BLOCKS}) AS b"
    "  JOIN events e ON e.position >= b.first_position AND e.position <= b.last_position"
    f"  WHERE {_WANTED} AND seq <= {_PAGE}"
    " UNION ALL SELECT seq, types, body FROM events"
    f"  WHERE position > {_UNCOVERED} AND {_WANTED} AND seq <= {_PAGE}"
    ") AS found ORDER BY seq LIMIT :most"
)
# As READ, with the parameter kind: the body only of rows that may hold events of that type.
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
    """The parameters of a query for the first `most` events with `after < seq <= upto`."""
    return {
        "session_id": session_id,
        "epoch": epoch,
        "after": after,
        "upto": upto,
        "most": most,
    }


def store(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """`Statement.prepare` of the events: the blocks that are due, and fewer rows."""
    last = fetch(_LAST)[0][0] or 0
    if last >= BLOCK:
        covered = fetch(_COVERED)
        start = covered[0][0] if covered else 0
        if last - start >= BLOCK:
            fetch(_COVER, (last, start, last))
    return pack(rows)


def head_of(fetch: Fetch, session_id: str, epoch: str) -> int:
    """The last `seq` of a session's log, 0 when it is empty; for use inside a transaction."""
    return fetch(HEAD, {"session_id": session_id, "epoch": epoch})[0][0] or 0


def events_of(fetch: Fetch, session_id: str, epoch: str, kinds: Collection[str]) -> list[Stored]:
    """A log's events of some types, in order; inside a transaction."""
    where = wanted(session_id, epoch)
    rows = fetch(_OF_KINDS, {**where, "kinds": json.dumps(list(kinds))})
    events = unpack(rows, after=0, upto=where["upto"], most=where["most"])
    return [event for event in events if event.type in kinds]
