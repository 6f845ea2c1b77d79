"""When schedules come, also on the days on which clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.recurrence import Timing, check_cron, check_interval, moment_of

START = datetime(2026, 1, 1, tzinfo=UTC)


def local_times(zone: str, cron: str, start: str, count: int) -> list[str]:
    """The next times as clocks of the zone show them."""
    tz = ZoneInfo(zone)
    timing = Timing(zone, START, cron=cron)
    found = islice(timing.times(datetime.fromisoformat(start).replace(tzinfo=tz)), count)
    return [time.astimezone(tz).strftime("%d %H:%M%z") for time in found]


@pytest.mark.requirement("SYS-01", "D-23")
@pytest.mark.parametrize(
    ("zone", "cron", "start", "times"),
    [
        # A time that clocks skip comes right after the gap, once.
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", ["29 03:00+0200", "30 02:30+0200"]),
        ("America/New_York", "30 2 * * *", "2026-03-07T12:00", ["08 03:00-0400", "09 02:30-0400"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00", ["04 02:30+1100"]),
        # A time that they show twice comes once.
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["25 02:30+0200", "26 02:30+0100"]),
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["01 01:30-0400", "02 01:30-0500"]),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2026-04-04T12:00",
            ["05 01:45+1100", "06 01:45+1030"],
        ),
        # What comes every hour goes on by the real time.
        (
            "Europe/Berlin",
            "30 * * * *",
            "2026-10-25T01:00",
            ["25 01:30+0200", "25 02:30+0200", "25 02:30+0100", "25 03:30+0100"],
        ),
        ("Europe/Berlin", "0 * * * *", "2026-03-29T00:30", ["29 01:00+0100", "29 03:00+0200"]),
        # Nothing is changed in India.
        ("Asia/Kolkata", "0 9 * * MON", "2026-03-28T12:00", ["30 09:00+0530", "06 09:00+0530"]),
    ],
)
def test_days_on_which_clocks_are_changed(zone, cron, start, times):
    assert local_times(zone, cron, start, len(times)) == times


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_a_daily_time_comes_once_on_every_day_of_the_year(zone):
    found = local_times(zone, "30 2 * * *", "2025-12-31T12:00", 365)
    assert len({time[:2] for time in found[:31]}) == 31
    timing = Timing(zone, START, cron="30 2 * * *")
    times = list(islice(timing.times(START), 365))
    days = [time.astimezone(ZoneInfo(zone)).date() for time in times]
    assert all(b - a == timedelta(days=1) for a, b in pairwise(days))


@given(st.integers(1, 10**6), st.integers(0, 10**7), st.integers(1, 10**7))
def test_the_latest_time_of_an_interval_is_the_one_that_walking_finds(every, begin, length):
    timing = Timing("UTC", START, every_seconds=every)
    after = START + timedelta(seconds=begin)
    until = after + timedelta(seconds=min(length, every * 50))
    walked = []
    for time in timing.times(after):
        if time > until:
            break
        walked.append(time)
    assert timing.latest(after, until) == ((walked[-1] if walked else None), len(walked))


@pytest.mark.parametrize("days", [0, 1, 10, 100, 800])
@pytest.mark.parametrize("cron", ["* * * * *", "0 3 * * *", "0 0 29 2 *", "30 2 * * 0"])
def test_the_latest_time_of_a_cron_after_a_stop_of_any_length(cron, days):
    timing = Timing("Europe/Berlin", START, cron=cron)
    until = START + timedelta(days=days, minutes=1)
    found, count = timing.latest(START, until)
    following = timing.after(found) if found else timing.after(START)
    assert following is not None
    assert following > until
    assert (found is None) == (count == 0)
    assert found is None or START < found <= until


def test_a_single_time_comes_once():
    at = START + timedelta(hours=1)
    timing = Timing("UTC", START, at=at)
    assert timing.after(START) == at
    assert timing.after(at) is None
    assert timing.latest(START, at) == (at, 1)
    assert timing.latest(at, at + timedelta(days=1)) == (None, 0)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 0 * * * *", "5 fields"),
        ("@daily", "5 fields"),
        ("", "5 fields"),
        ("61 * * * *", "Bad minute"),
        ("0 0 30 2 *", "day-of-month"),
        ("* * * * MOONDAY", "day-of-week"),
        ("*/0 * * * *", "minute"),
    ],
)
def test_what_is_no_cron_expression_says_why(expression, message):
    with pytest.raises(ValueError, match=message):
        check_cron(expression)


def test_an_expression_is_kept_with_single_spaces():
    assert check_cron("  0  9 *   * mon-fri ") == "0 9 * * mon-fri"


@pytest.mark.parametrize(
    ("timing", "allowed"),
    [
        (Timing("UTC", START, cron="* * * * *"), 60),
        (Timing("UTC", START, cron="0,1 9 * * *"), 60),
        (Timing("UTC", START, every_seconds=90), 90),
        (Timing("UTC", START, at=START), 10_000),
    ],
)
def test_what_comes_too_often_is_refused(timing, allowed):
    check_interval(timing, allowed)
    if timing.at is None:
        with pytest.raises(ValueError, match="the minimum interval is"):
            check_interval(timing, allowed + 1)


def test_moments_are_read_as_they_are_written():
    assert moment_of("in 10m", "UTC", START) == START + timedelta(minutes=10)
    assert moment_of("in 2 d", "UTC", START) == START + timedelta(days=2)
    finer = START.replace(microsecond=123_456)
    assert moment_of("in 10m", "UTC", finer).microsecond == 123_000, "it comes once, as stored"
    assert moment_of("2026-06-01T12:00", "Europe/Berlin", START).hour == 10
    assert moment_of("2026-06-01T12:00-05:00", "Europe/Berlin", START).hour == 17
    for text in ("in 10 minutes", "tomorrow", "2026-03-29T02:30", "in -1m"):
        with pytest.raises(ValueError, match=r"not a date or time|clocks"):
            moment_of(text, "Europe/Berlin", START)
    for text in ("in 9999999d", "9999-12-31T23:59-05:00"):
        with pytest.raises(ValueError, match="outside the calendar"):
            moment_of(text, "UTC", START)
