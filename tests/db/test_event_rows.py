"""Several events in one row come apart again as they were."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from app.db.event_rows import MOST_BYTES, MOST_EVENTS, Stored, one, pack, unpack

TS = "2026-01-01T00:00:00.000Z"
EVERY = 2**40


def event(session: str, seq: int, body: bytes = b"{}", kind: str = "said") -> Any:
    return one(session, "ep", seq, kind, TS, body)


def apart(rows: list[Any], session: str) -> list[Stored]:
    mine = [(row[2], row[4], row[6]) for row in rows if row[0] == session]
    return unpack(sorted(mine), after=0, upto=EVERY, most=EVERY)


bodies = st.one_of(
    st.text(max_size=30).map(orjson.dumps),
    st.sampled_from([b"", b"{}\n", b"\n", b"{\n}", b"x" * (MOST_BYTES // 2)]),
)
commits = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["k", "long_kind"]), bodies, st.booleans()),
    max_size=90,
)


@given(commits)
def test_what_is_packed_comes_apart_as_it_was(commit: list[tuple[str, str, bytes, bool]]):
    seqs = dict.fromkeys("abc", 0)
    rows, expected = [], []
    for session, kind, body, skips in commit:
        seqs[session] += 2 if skips else 1
        rows.append(event(session, seqs[session], body, kind))
        expected.append((session, Stored(seqs[session], kind, body)))
    packed = pack(rows)
    for session in "abc":
        assert apart(packed, session) == [found for owner, found in expected if owner == session]
    for row in packed:
        assert row[3] + 1 == len(row[4].split(" ")) <= MOST_EVENTS
        assert row[3] == 0 or len(row[6]) <= MOST_BYTES + MOST_EVENTS


def test_a_commit_of_one_session_is_as_few_rows_as_may_be():
    rows = pack([event("a", seq) for seq in range(1, 2 * MOST_EVENTS + 2)])
    assert [(row[2], row[3] + 1) for row in rows] == [
        (1, MOST_EVENTS),
        (1 + MOST_EVENTS, MOST_EVENTS),
        (1 + 2 * MOST_EVENTS, 1),
    ]


def test_a_page_may_begin_and_end_within_a_row():
    rows = pack([event("a", seq, b"%d" % seq) for seq in range(1, 11)])
    stored = [(row[2], row[4], row[6]) for row in rows]
    assert [e.seq for e in unpack(stored, after=3, upto=EVERY, most=4)] == [4, 5, 6, 7]
    assert [e.body for e in unpack(stored, after=8, upto=9, most=4)] == [b"9"]
    without = [(first, types, None) for first, types, _ in stored]
    assert unpack(without, after=9, upto=EVERY, most=4) == [Stored(10, "said", b"")]
