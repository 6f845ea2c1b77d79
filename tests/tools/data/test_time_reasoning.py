"""`time_reasoning`: zones, summer time, calendars, and times that exist twice or never."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import ManualClock
from app.core.errors import InvalidArguments
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from app.tools.data.calendar_steps import apart, business_days, step
from app.tools.data.durations import Duration, iso_duration, read_duration
from app.tools.data.services import CLOCK
from app.tools.data.time_reasoning import time_reasoning
from tests.tools.calls import call

NOW = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
BERLIN = "Europe/Berlin"
NO_ZONE = "No zone was given, so UTC, the service's default, is used."


async def reason(operation: str, **arguments):
    services = Services(**{CLOCK: ManualClock(NOW)})
    context = ToolContext(tool_call_id="call_1", operation_id="call_1", services=services)
    return await call(time_reasoning, context, operation=operation, **arguments)


@pytest.mark.requirement("LGY-01")
async def test_now_is_reported_in_a_zone():
    result = await reason("now", tz="Asia/Tokyo")
    assert result.data == {
        "result": "2026-03-29T08:30:00+09:00",
        "utc": "2026-03-28T23:30:00Z",
        "unix": NOW.timestamp(),
        "tz": "Asia/Tokyo",
        "offset": "+09:00",
        "summer_time": False,
        "date": "2026-03-29",
        "weekday": "Sunday",
        "iso_week": "2026-W13-7",
        "day_of_year": 88,
        "notes": [],
    }
    assert (await reason("now")).data["result"] == "2026-03-28T23:30:00+00:00"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("2026-02-03", "2026-02-03T00:00:00+00:00"),
        ("2026-02-03T04:05", "2026-02-03T04:05:00+00:00"),
        ("20260203T040506Z", "2026-02-03T04:05:06+00:00"),
        ("2026-02-03T04:05:06.789+05:30", "2026-02-03T04:05:06.789000+05:30"),
        ("2026-W05-2", "2026-01-27T00:00:00+00:00"),
        ("2026-W05", "2026-01-26T00:00:00+00:00"),
        ("2026-034", "2026-02-03T00:00:00+00:00"),
        ("1770091506", "2026-02-03T04:05:06+00:00"),
        ("1770091506789", "2026-02-03T04:05:06.789000+00:00"),
        ("@0", "1970-01-01T00:00:00+00:00"),
        ("@-1.5", "1969-12-31T23:59:58.500000+00:00"),
        ("Tue, 03 Feb 2026 04:05:06 +0100", "2026-02-03T04:05:06+01:00"),
        ("now", "2026-03-28T23:30:00+00:00"),
        ("Tomorrow", "2026-03-29T00:00:00+00:00"),
        ("yesterday", "2026-03-27T00:00:00+00:00"),
        ("in 1h 30m", "2026-03-29T01:00:00+00:00"),
        ("2 days and 3 hours ago", "2026-03-26T20:30:00+00:00"),
        ("in P1M", "2026-04-28T23:30:00+00:00"),
        ("2024-02-29", "2024-02-29T00:00:00+00:00"),
    ],
)
async def test_a_value_is_read_in_many_ways_of_writing(value, result):
    assert (await reason("parse", value=value)).data["result"] == result


async def test_a_missing_zone_is_said():
    assert (await reason("parse", value="2026-02-03T04:05")).data["notes"] == [NO_ZONE]
    assert (await reason("parse", value="2026-02-03T04:05Z")).data["notes"] == []
    named = await reason("parse", value="2026-07-03T04:05", tz=BERLIN)
    assert (named.data["result"], named.data["notes"]) == ("2026-07-03T04:05:00+02:00", [])


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "2026-02-30", "2026-13-01", "25:00", "2025-366", "soon", "in", "ago"),
        *("2026-01-01T00:00:00+99:00", "9" * 30, "@", "' OR 1=1", "0000-01-01", "2026-W54"),
    ],
)
async def test_what_is_no_time_is_a_typed_failure(value):
    if not value:
        with pytest.raises(InvalidArguments, match="value"):
            await reason("parse", value=value)
        return
    result = await reason("parse", value=value)
    assert (result.success, result.code) == (False, "bad_time")


@pytest.mark.parametrize("value", ["in soon", "some time ago", "in 1 fortnight", "in 1.5 months"])
async def test_a_duration_that_cannot_be_read_is_a_typed_failure(value):
    assert (await reason("parse", value=value)).code == "bad_duration"


@pytest.mark.parametrize(
    ("tz", "hint"),
    [
        ("Europe/Berlim", "did you mean Europe/Berlin"),
        ("../../etc/passwd", "such as Europe/Berlin"),
        ("/etc/localtime", "is not an IANA time zone"),
        ("Europe", "is not an IANA time zone"),
        ("posix/../UTC", "is not an IANA time zone"),
        ("+99:00", "is not an IANA time zone"),
        ("Mars/Olympus", "is not an IANA time zone"),
    ],
)
async def test_a_zone_that_does_not_exist_is_refused_with_a_hint(tz, hint):
    result = await reason("now", tz=tz)
    assert result.code == "unknown_time_zone"
    assert hint in result.error


async def test_a_time_is_converted_between_zones():
    result = await reason(
        "convert", value="2026-07-01T12:00", from_tz="America/New_York", tz="Asia/Shanghai"
    )
    assert (result.data["result"], result.data["notes"]) == ("2026-07-02T00:00:00+08:00", [])
    unnamed = await reason("convert", value="2026-07-01T12:00", tz="+05:30")
    assert unnamed.data["result"] == "2026-07-01T17:30:00+05:30"
    assert unnamed.data["notes"] == [NO_ZONE]
    nowhere = await reason("convert", value="2026-07-01T12:00+02:00")
    assert nowhere.data["result"] == "2026-07-01T10:00:00+00:00"
    assert nowhere.data["notes"] == ["No tz was given, so UTC is used."]


@pytest.mark.parametrize(
    ("start", "by", "result"),
    [
        # On 29 March 2026 clocks in Berlin go from 02:00 to 03:00.
        ("2026-03-28T12:00", {"amount": 1, "unit": "days"}, "2026-03-29T12:00:00+02:00"),
        ("2026-03-28T12:00", {"amount": 24, "unit": "hours"}, "2026-03-29T13:00:00+02:00"),
        ("2026-03-28T12:00", {"value2": "P1DT1H"}, "2026-03-29T13:00:00+02:00"),
        ("2026-03-29T01:59", {"amount": 1, "unit": "minutes"}, "2026-03-29T03:00:00+02:00"),
        # On 25 October 2026 they go from 03:00 back to 02:00.
        ("2026-10-24T12:00", {"amount": 1, "unit": "days"}, "2026-10-25T12:00:00+01:00"),
        ("2026-10-25T02:30+02:00", {"amount": 1, "unit": "hours"}, "2026-10-25T02:30:00+01:00"),
        ("2026-10-26T12:00", {"amount": -1, "unit": "weeks"}, "2026-10-19T12:00:00+02:00"),
        ("2026-01-15", {"amount": 1.5, "unit": "hours"}, "2026-01-15T01:30:00+01:00"),
        ("2024-02-29", {"amount": -1, "unit": "years"}, "2023-02-28T00:00:00+01:00"),
        ("2026-12-15", {"amount": 14, "unit": "months"}, "2028-02-15T00:00:00+01:00"),
        ("2026-01-15", {"amount": 250, "unit": "milliseconds"}, "2026-01-15T00:00:00.250000+01:00"),
        ("2026-01-15", {"value2": "-1w 2d"}, "2026-01-06T00:00:00+01:00"),
    ],
)
async def test_days_keep_the_clock_and_hours_pass(start, by, result):
    assert (await reason("add", value=start, tz=BERLIN, **by)).data["result"] == result


async def test_a_month_without_that_day_ends_on_its_last_one_and_says_so():
    result = await reason("add", value="2026-01-31", amount=1, unit="months", tz="UTC")
    assert result.data["date"] == "2026-02-28"
    assert result.data["notes"] == ["2026-02 has no day 31; its last day is used."]


async def test_a_clock_time_that_is_skipped_moves_forward_and_says_so():
    result = await reason("add", value="2026-03-28T02:30", amount=1, unit="days", tz=BERLIN)
    assert result.data["result"] == "2026-03-29T03:30:00+02:00"
    assert result.data["notes"] == [
        "Clocks in Europe/Berlin skip 2026-03-29 02:30:00; 2026-03-29 03:30:00 is used."
    ]


async def test_of_a_clock_time_that_comes_twice_the_first_is_taken_and_said():
    result = await reason("parse", value="2026-10-25T02:30", tz=BERLIN)
    assert result.data["offset"] == "+02:00"
    assert result.data["notes"] == [
        "Clocks in Europe/Berlin show 2026-10-25 02:30:00 twice; the first is used (+02:00),"
        " not +01:00."
    ]


async def test_an_offset_alone_knows_no_summer_time():
    result = await reason("add", value="2026-03-28T12:00+01:00", amount=1, unit="days")
    assert result.data["result"] == "2026-03-29T12:00:00+01:00"
    assert result.data["notes"] == [
        "An offset has no daylight saving time; use a zone name in tz if that matters."
    ]


async def test_nothing_is_added_to_without_a_value_but_now():
    assert (await reason("add", value2="90m")).data["utc"] == "2026-03-29T01:00:00Z"


@pytest.mark.parametrize(
    ("amount", "holidays", "day"),
    [
        (1, [], "2026-04-06"),
        (1, ["2026-04-06"], "2026-04-07"),
        (5, [], "2026-04-10"),
        (-1, [], "2026-04-02"),
        (0, [], "2026-04-03"),
    ],
)
async def test_business_days_pass_over_weekends_and_holidays(amount, holidays, day):
    result = await reason(
        "add", value="2026-04-03", amount=amount, unit="business_days", holidays=holidays, tz="UTC"
    )
    assert result.data["date"] == day


async def test_a_difference_counts_in_several_ways():
    result = await reason("diff", value="2026-03-28T12:00", value2="2026-05-01T13:30", tz=BERLIN)
    assert result.data == {
        "result": "P34DT30M",
        "seconds": 34 * 86_400 + 1800,
        "calendar": {"years": 0, "months": 1, "days": 3, "hours": 1, "minutes": 30, "seconds": 0},
        "business_days": 24,
        "start": "2026-03-28T12:00:00+01:00",
        "end": "2026-05-01T13:30:00+02:00",
        "notes": [],
    }
    assert result.text == "1 month 3 days 1 hour 30 minutes (P34DT30M, 2939400 seconds)"


@pytest.mark.parametrize(
    ("unit", "number"),
    [
        *(("days", 366.0), ("weeks", 366 / 7), ("hours", 8784.0), ("minutes", 527_040.0)),
        *(("months", 12), ("years", 1), ("business_days", 262)),
    ],
)
async def test_a_difference_comes_in_a_unit(unit, number):
    result = await reason("diff", value="2024-01-01", value2="2025-01-01", unit=unit, tz="UTC")
    assert result.data["in_unit"] == number


async def test_a_difference_backwards_is_negative():
    result = await reason("diff", value="2026-03-31", value2="2026-02-28", tz="UTC")
    assert (result.data["result"], result.data["seconds"]) == ("-P31D", -31 * 86_400)
    assert result.data["calendar"]["months"] == -1
    assert result.data["business_days"] == -21


async def test_a_weekday_is_reported():
    result = await reason("weekday", value="2026-12-31", tz=BERLIN)
    assert (result.data["weekday"], result.data["iso_week"]) == ("Thursday", "2026-W53-4")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"value": "9999-12-31", "amount": 2, "unit": "days"}, "time_out_of_range"),
        ({"value": "0001-01-01", "amount": -1, "unit": "seconds"}, "time_out_of_range"),
        ({"value": "2026-01-01", "amount": 1_000_000_000, "unit": "years"}, "time_out_of_range"),
        ({"value": "2026-01-01", "amount": 1_000_000_000, "unit": "weeks"}, "time_out_of_range"),
        ({"value": "2026-01-01", "amount": 200_000, "unit": "business_days"}, "bad_duration"),
        ({"value": "2026-01-01", "amount": 1.5, "unit": "months"}, "bad_duration"),
        ({"value": "2026-01-01", "value2": "two weeks"}, "bad_duration"),
        ({"value": "2026-01-01", "value2": "P"}, "bad_duration"),
        ({"value": "2026-01-01", "value2": "-"}, "bad_duration"),
        (
            {"value": "0001-01-01T00:00", "amount": 0, "unit": "hours", "tz": "Asia/Tokyo"},
            "time_out_of_range",
        ),
    ],
)
async def test_a_sum_that_has_no_answer_is_a_typed_failure(arguments, code):
    result = await reason("add", **arguments)
    assert (result.success, result.code) == (False, code)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"operation": "parse"}, "operation parse requires value"),
        ({"operation": "diff", "value": "now"}, "operation diff requires value2"),
        ({"operation": "add", "value": "now"}, "requires amount and unit, or"),
        ({"operation": "add", "amount": 1}, "requires amount and unit, or"),
        (
            {"operation": "add", "amount": 1, "unit": "days", "value2": "1d"},
            "requires amount and unit, or",
        ),
        ({"operation": "guess"}, "'weekday'"),
        ({"operation": "now", "holidays": ["x"]}, "holidays"),
    ],
)
async def test_arguments_that_do_not_go_together_are_refused(arguments, problem):
    with pytest.raises(InvalidArguments, match=problem):
        await reason(**arguments)


MOMENTS = st.integers(0, 7_000_000_000).map(lambda unix: datetime.fromtimestamp(unix, UTC))
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"])


@given(MOMENTS, MOMENTS, ZONES)
def test_a_calendar_difference_leads_from_the_one_to_the_other(first, second, zone):
    start, end = sorted((first, second))
    start = start.astimezone(ZoneInfo(zone))
    way = apart(start, end)
    passing = timedelta(hours=way.hours, minutes=way.minutes, seconds=way.seconds)
    by = Duration(months=way.years * 12 + way.months, days=way.days, passing=passing)
    assert abs(step(start, by, (), []).astimezone(UTC) - end) < timedelta(milliseconds=1)
    assert min(way.years, way.months, way.days, way.hours, way.minutes, way.seconds) >= 0


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 400))
def test_business_days_are_those_a_count_by_hand_finds(start, days):
    by_hand = sum((start + timedelta(days=day)).weekday() < 5 for day in range(days))
    assert business_days(start, start + timedelta(days=days), ()) == by_hand


@given(st.timedeltas(timedelta(days=-9999), timedelta(days=9999)))
def test_a_duration_is_read_as_it_was_written(passing):
    read = read_duration(iso_duration(passing))
    assert timedelta(days=read.days) + read.passing == passing


@pytest.mark.parametrize("value", ["in 999999999 business_days", "99999999 business days ago"])
async def test_business_days_that_would_be_counted_for_a_second_are_refused(value: str):
    assert (await reason("parse", value=value)).code in ("bad_duration", "bad_time")
