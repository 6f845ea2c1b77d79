"""A period is its full days and the parts of days at its ends, each moment in one of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.report_span import Span
from app.core.clock import isoformat

START = datetime(2026, 2, 27, tzinfo=UTC)
# Around the end of a month; many at the start of a day.
MOMENTS = st.sampled_from([0, 1, 1_000, 43_200_000, 86_399_999]).flatmap(
    lambda rest: st.integers(0, 4).map(
        lambda day: isoformat(START + timedelta(days=day, milliseconds=rest))
    )
)
ENDS = st.none() | MOMENTS


@given(ENDS, ENDS, MOMENTS)
def test_each_moment_of_a_period_is_counted_once(since: str | None, until: str | None, moment: str):
    span = Span.of(since, until)
    day = moment[:10]
    in_days = (span.first is None or day >= span.first) and (span.end is None or day < span.end)
    in_parts = sum(start <= moment < end for start, end in span.parts)
    is_inside = (since is None or since <= moment) and (until is None or moment < until)
    assert in_days + in_parts == is_inside


@pytest.mark.parametrize("end", [None, "2026-03-01T00:00:00.000Z"])
def test_full_days_have_no_parts(end: str | None):
    assert Span.of("2026-02-27T00:00:00.000Z", end).parts == ()
