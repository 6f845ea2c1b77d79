"""What a skill's program may say on its output, and what it can break by it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.toolkit.context import Progress
from app.tools.skills.events import (
    MAX_LINE,
    MAX_PROGRESS,
    EventReader,
    SkillResult,
)


def line(event: str, **fields: Any) -> bytes:
    return json.dumps({"event": event, **fields}).encode() + b"\n"


def heard(*pieces: bytes) -> tuple[EventReader, list[Progress | bytes]]:
    reader = EventReader()
    items = [item for piece in pieces for item in reader.feed(piece)]
    return reader, items + reader.finish()


RESULT = line("result", data={"n": 1}, artifacts=["a.png"])


@pytest.mark.requirement("EVT-08")
def test_progress_and_the_result_are_taken_out_of_the_output():
    reader, items = heard(
        b"hello\n", line("progress", stage="load", percent=10, message="m"), RESULT, b"bye"
    )
    assert items == [b"hello\n", Progress("load", "m", 10.0, 100.0, "%"), b"bye"]
    assert (reader.result, reader.problem) == (SkillResult({"n": 1}, ("a.png",)), None)


@given(st.lists(st.integers(1, 20), max_size=40))
def test_where_the_pipe_cuts_makes_no_difference(cuts: list[int]):
    whole = b"noise\n" + line("progress", stage="a") + b"{not json}\n" + RESULT + b"{tail"
    pieces, rest = [], whole
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    reader, items = heard(*pieces, rest)
    assert reader.result == SkillResult({"n": 1}, ("a.png",))
    assert [item for item in items if isinstance(item, Progress)] == [Progress("a")]
    said = b"".join(item for item in items if isinstance(item, bytes))
    assert said == b"noise\n{not json}\n{tail"


@pytest.mark.parametrize(
    "event",
    [
        b'{"event": "progress"}\n',
        b'{"event": "progress", "stage": ""}\n',
        b'{"event": "progress", "stage": 7}\n',
        b'{"event": "finished"}\n',
        b'{"event": ["result"]}\n',
        b'["result"]\n',
        b'{"event": "result", "data": NaN}\n',
        b"{" * 3000 + b"\n",
        b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"\n",
    ],
)
def test_what_is_no_event_is_output(event: bytes):
    reader, items = heard(event)
    assert (items, reader.result, reader.problem) == ([event], None, None)


@pytest.mark.parametrize(
    ("percent", "current"),
    [(-5, 0.0), (250, 100.0), ("7", None), (True, None), (None, None), (1e400, None)],
)
def test_a_percentage_is_one_or_none(percent: Any, current: float | None):
    _, items = heard(line("progress", stage="a", percent=percent).replace(b"Infinity", b"null"))
    assert [item.current for item in items if isinstance(item, Progress)] == [current]


def test_text_of_progress_is_one_short_line():
    _, items = heard(line("progress", stage="a\x1b[31m\n" + "x" * 500, message="m" * 5000))
    (progress,) = items
    assert isinstance(progress, Progress)
    assert progress.stage.startswith("a [31m x")
    assert (len(progress.stage), len(progress.message or "")) == (100, 500)


def test_a_second_result_spoils_the_first():
    reader, _ = heard(RESULT, line("result", data={"forged": True}))
    assert reader.problem == "there was more than one result"


def test_what_comes_after_the_result_counts_no_more():
    reader, items = heard(RESULT, line("progress", stage="late"))
    assert (items, reader.left_out, reader.reports) == ([], 1, 0)


def test_a_flood_of_progress_is_counted_not_passed_on():
    reader, items = heard(line("progress", stage="a") * (MAX_PROGRESS + 50))
    assert (len(items), reader.reports, reader.left_out) == (MAX_PROGRESS, MAX_PROGRESS, 50)


@pytest.mark.parametrize(
    "artifacts", ["a.png", [1], [""], ["x" * 501], ["a\nb"], [f"{n}" for n in range(21)], {"a": 1}]
)
def test_artifacts_are_a_short_list_of_paths(artifacts: Any):
    reader, _ = heard(line("result", data=1, artifacts=artifacts))
    assert (reader.result, reader.problem is None) == (None, False)


@pytest.mark.parametrize("pieces", [1, 3])
def test_an_event_without_end_is_refused_and_held_no_longer(pieces: int):
    reader = EventReader()
    for _ in range(pieces):
        reader.feed(b'{"event": "result", "data": "' + b"x" * MAX_LINE)
    assert reader.problem is not None
    assert reader.finish() == []
    assert reader.result is None


def test_a_long_line_of_plain_output_streams_and_spoils_nothing():
    reader, items = heard(b"x" * MAX_LINE, b"y" * MAX_LINE + b"\n", RESULT)
    assert (reader.problem, reader.result is None) == (None, False)
    assert len(b"".join(item for item in items if isinstance(item, bytes))) == 2 * MAX_LINE + 1
