"""`time_reasoning`: computes the current time, differences, sums, time zones and weekdays."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.data.calendar_steps import apart, business_days, step
from app.tools.data.durations import SECONDS, Duration, iso_duration, of_unit, read_duration
from app.tools.data.returns import TIME_REASONING_RESULT
from app.tools.data.services import clock_of
from app.tools.data.time_values import TimeReader
from app.tools.data.time_zones import DEFAULT_ZONE, offset_text, zone_name, zone_of

Unit = Literal[
    "milliseconds",
    "seconds",
    "minutes",
    "hours",
    "days",
    "weeks",
    "months",
    "years",
    "business_days",
]
_MOST = 1_000_000_000
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY_SECONDS = {"days": 86_400, "weeks": 7 * 86_400}


class TimeReasoningArgs(ToolArgs):
    operation: Literal["now", "diff", "add", "convert", "parse", "weekday"] = Field(
        description="diff is value2 minus value; add requires amount and unit, or value2."
    )
    value: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="ISO 8601, Unix time, now, tomorrow or in 10m; add: defaults to now.",
    )
    value2: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="diff: the later time. add: a duration such as 1h30m or P1M.",
    )
    amount: int | float | None = Field(
        default=None, ge=-_MOST, le=_MOST, description="add: number of units; can be negative."
    )
    unit: Unit | None = Field(
        default=None, description="add: unit of amount. diff: unit of in_unit."
    )
    tz: str | None = Field(
        default=None,
        min_length=1,
        max_length=60,
        description="IANA zone or offset of the result, and of values without one; default UTC.",
    )
    from_tz: str | None = Field(
        default=None,
        min_length=1,
        max_length=60,
        description="Zone of values without an offset, if different from tz.",
    )
    holidays: list[date] = Field(
        default_factory=list,
        max_length=400,
        description="Non-business days besides Saturday and Sunday.",
    )

    @model_validator(mode="after")
    def _complete(self) -> TimeReasoningArgs:
        if self.value is None and self.operation not in ("now", "add"):
            raise FieldError(
                f"operation {self.operation} requires value",
                code="needs",
                given=self.operation,
                needed="value",
            )
        if self.operation == "diff" and self.value2 is None:
            raise FieldError(
                "operation diff requires value2", code="needs", given="diff", needed="value2"
            )
        if self.operation == "add":
            counted = self.amount is not None and self.unit is not None
            if counted == (self.value2 is not None):
                raise FieldError(
                    "operation add requires amount and unit, or a duration as value2",
                    code="duration_needed",
                )
        return self


@tool(
    category="data",
    toolset="data",
    tags=("time", "date"),
    argument_aliases={"timezone": "tz", "to_tz": "tz", "action": "operation"},
    return_schema=TIME_REASONING_RESULT,
)
async def time_reasoning(args: TimeReasoningArgs, ctx: ToolContext) -> ToolResult:
    """Get the current time, or calculate with times; prefer it over mental arithmetic.

    Supports time zones, daylight saving time, ISO weeks and business days. Days, weeks, months and
    years preserve the clock time; smaller units are elapsed time. Returns result, with notes on
    assumptions.
    """
    # The first use of a time zone reads a file.
    return await asyncio.to_thread(_compute, args, clock_of(ctx).now())


def _compute(args: TimeReasoningArgs, now: datetime) -> ToolResult:
    # The value to convert has another zone than the result.
    own = args.from_tz or (None if args.operation == "convert" else args.tz)
    reader = TimeReader(now, zone_of(own or DEFAULT_ZONE), named=own is not None)
    try:
        if args.operation == "diff":
            data, text = _difference(args, reader)
        else:
            moment = _moment(args, reader)
            data = _facts(moment)
            text = f"{data['result']} ({data['weekday']}, {data['tz']})"
    except (OverflowError, ValueError):
        raise ToolFailed(
            "The time is outside the years 1 to 9999", code="time_out_of_range"
        ) from None
    return ToolResult.ok({**data, "notes": reader.notes}, text="\n".join([text, *reader.notes]))


def _moment(args: TimeReasoningArgs, reader: TimeReader) -> datetime:
    match args.operation:
        case "now":
            return reader.read("now")
        case "add":
            start = _here(args, reader.read(args.value or "now"))
            return _sum(args, start, reader)
        case "convert":
            if args.tz is None:
                reader.notes.append(f"No tz was given, so {DEFAULT_ZONE} is used.")
            return reader.read(args.value or "").astimezone(zone_of(args.tz or DEFAULT_ZONE))
        case _:
            return _here(args, reader.read(args.value or ""))


def _here(args: TimeReasoningArgs, moment: datetime) -> datetime:
    return moment if args.tz is None else moment.astimezone(zone_of(args.tz))


def _sum(args: TimeReasoningArgs, start: datetime, reader: TimeReader) -> datetime:
    if args.value2 is not None:
        by = read_duration(args.value2)
    else:
        assert args.amount is not None
        assert args.unit is not None
        by = of_unit(Decimal(str(args.amount)), args.unit)
    fixed = isinstance(start.tzinfo, timezone) and start.tzinfo is not UTC
    if fixed and by != Duration(passing=by.passing):
        reader.notes.append(
            "An offset has no daylight saving time; use a zone name in tz if that matters."
        )
    return step(start, by, args.holidays, reader.notes)


def _difference(args: TimeReasoningArgs, reader: TimeReader) -> tuple[dict[str, Any], str]:
    start = _here(args, reader.read(args.value or ""))
    end = _here(args, reader.read(args.value2 or ""))
    passing = end.astimezone(UTC) - start.astimezone(UTC)
    calendar = apart(start, end)
    last = end.astimezone(start.tzinfo)
    data = {
        "result": iso_duration(passing),
        "seconds": passing.total_seconds(),
        "calendar": asdict(calendar),
        "business_days": business_days(start.date(), last.date(), args.holidays),
        "start": start.isoformat(),
        "end": end.isoformat(),
    }
    if args.unit is not None:
        data["in_unit"] = _in_unit(args.unit, passing, data)
    return data, f"{calendar.to_text()} ({data['result']}, {data['seconds']:.15g} seconds)"


def _in_unit(unit: Unit, passing: timedelta, data: dict[str, Any]) -> float:
    """Return whole months, years and business days; other units may be fractional."""
    if unit == "business_days":
        return int(data["business_days"])
    if unit in ("months", "years"):
        whole = data["calendar"]["years"]
        return int(whole if unit == "years" else whole * 12 + data["calendar"]["months"])
    length = float(SECONDS[unit]) if unit in SECONDS else _DAY_SECONDS[unit]
    return passing.total_seconds() / length


def _facts(moment: datetime) -> dict[str, Any]:
    zone = moment.tzinfo
    assert zone is not None
    year, week, day = moment.isocalendar()
    in_utc = moment.astimezone(UTC)
    return {
        "result": moment.isoformat(),
        "utc": in_utc.isoformat().replace("+00:00", "Z"),
        "unix": in_utc.timestamp(),
        "tz": zone_name(zone),
        "offset": offset_text(moment.utcoffset() or timedelta()),
        "summer_time": bool(moment.dst()),
        "date": moment.date().isoformat(),
        "weekday": _WEEKDAYS[moment.weekday()],
        "iso_week": f"{year:04d}-W{week:02d}-{day}",
        "day_of_year": moment.timetuple().tm_yday,
    }
