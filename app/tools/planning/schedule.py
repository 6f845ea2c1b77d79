"""`schedule`: the user's calendar."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.clock import isoformat
from app.core.field_problems import FieldError
from app.domain.datetimes import MomentText, ZoneName, is_date, next_day, shown, to_utc
from app.domain.owners import actor_of, owner_of
from app.domain.plans import CALENDAR, Appointment, Calendar
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.planning.returns import SCHEDULE_RESULT
from app.tools.untrusted import untrusted

_HOUR = timedelta(hours=1)


class ScheduleArgs(ToolArgs):
    action: Literal["add", "list", "remove"] = Field(default="list", description="What to do.")
    id: str | None = Field(default=None, min_length=1, max_length=64, description="remove: ID.")
    title: str | None = Field(
        default=None, min_length=1, max_length=300, pattern=r"\S", description="add: title."
    )
    notes: str = Field(default="", max_length=20_000, description="add: further details.")
    start: MomentText | None = Field(
        default=None,
        description="ISO time, or a date for a whole day; list: from this time, default now.",
    )
    end: MomentText | None = Field(
        default=None, description="Exclusive; a date is the last day. Default: one hour."
    )
    tz: ZoneName = Field(default="UTC", description="IANA time zone of times without offset.")
    limit: int = Field(default=50, ge=1, le=500, description="list: maximum entries.")

    @model_validator(mode="after")
    def _complete(self) -> ScheduleArgs:
        if self.action == "remove" and self.id is None:
            raise FieldError("remove requires id", code="needs", given="remove", needed="id")
        if self.action == "add" and (self.title is None or self.start is None):
            raise FieldError(
                "add requires title and start", code="needs", given="add", needed="title, start"
            )
        start, end = self.span()
        if start is not None and end is not None and end <= start:
            raise FieldError(
                "end must be later than start", code="must_follow", given="end", needed="start"
            )
        return self

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the period as `[start, end)` in UTC; None for an open end."""
        start = None if self.start is None else to_utc(self.start, self.tz)
        end = None if self.end is None else to_utc(self.end, self.tz)
        if end is not None and self.end is not None and is_date(self.end):
            end = next_day(end, self.tz)
        return start, end


@tool(
    category="planning",
    toolset="planning",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(CALENDAR,),
    routing_hint="main-process-proxy",
    tags=("plan", "calendar"),
    argument_aliases={"timezone": "tz", "appointment_id": "id"},
    return_schema=SCHEDULE_RESULT,
)
async def schedule(args: ScheduleArgs, ctx: ToolContext) -> ToolResult:
    """Manage the user's calendar: add, list or remove appointments.

    For scheduled runs, use schedule_cron. `add` reports overlaps but does not prevent them. Times
    are shown in `tz`. Returns the appointment, or the appointments and their total.
    """
    calendar = ctx.services.require(CALENDAR, Calendar)  # type: ignore[type-abstract]
    owner = owner_of(ctx)
    if args.action == "remove":
        assert args.id is not None
        gone = await calendar.remove(owner, args.id)
        return ToolResult.ok(
            {"removed": _fields(gone, args.tz)},
            text=f"Removed:\n{_appointments_text([gone], args)}",
        )
    if args.action == "add":
        kept, overlaps = await calendar.add(owner, _appointment(args, ctx))
        data: dict[str, Any] = {
            "appointment": _fields(kept, args.tz),
            "overlaps": [_fields(item, args.tz) for item in overlaps],
        }
        text = f"Added {_line(kept, args)}"
        if overlaps:
            text += f"\nIt overlaps with:\n{_appointments_text(overlaps, args)}"
        return ToolResult.ok(data, text=text)
    return await _listed(args, calendar, owner)


async def _listed(args: ScheduleArgs, calendar: Calendar, owner: str) -> ToolResult:
    start, end = args.span()
    found, total = await calendar.between(
        owner,
        None if start is None else isoformat(start),
        None if end is None else isoformat(end),
        args.limit,
    )
    data = {"appointments": [_fields(item, args.tz) for item in found], "total": total}
    text = _appointments_text(found, args) if found else "No appointments"
    if total > len(found):
        text += f"\n({total - len(found)} more)"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def _appointments_text(found: Sequence[Appointment], args: ScheduleArgs) -> str:
    """Return appointments marked as untrusted: another chat may have stored text from a web
    page.
    """
    return untrusted("\n".join(_line(item, args) for item in found), "calendar")


def _appointment(args: ScheduleArgs, ctx: ToolContext) -> Appointment:
    assert args.title is not None
    assert args.start is not None
    start, end = args.span()
    assert start is not None
    if end is None:
        end = next_day(start, args.tz) if is_date(args.start) else start + _HOUR
    return Appointment(
        id="",
        title=args.title,
        notes=args.notes,
        starts_at=isoformat(start),
        ends_at=isoformat(end),
        timezone=args.tz,
        all_day=is_date(args.start),
        created_by=actor_of(ctx),
        created_at="",
    )


def _fields(item: Appointment, zone: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "notes": item.notes,
        "start": shown(item.starts_at, zone),
        "end": shown(item.ends_at, zone),
        "all_day": item.all_day,
        "timezone": item.timezone,
        "created_by": item.created_by,
    }


def _line(item: Appointment, args: ScheduleArgs) -> str:
    times = f"{shown(item.starts_at, args.tz)} to {shown(item.ends_at, args.tz)}"
    return f"{item.id} {times} {item.title}"
