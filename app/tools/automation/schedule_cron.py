"""`schedule_cron`: scheduled runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.clock import isoformat
from app.core.field_problems import FieldError
from app.domain.datetimes import ZoneName, shown
from app.domain.schedules import (
    SCHEDULES,
    Occurrence,
    Schedule,
    ScheduleInput,
    ScheduleOwner,
    Schedules,
)
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.automation.returns import SCHEDULE_CRON_RESULT

_COMING = 3
_CREATING = ("name", "prompt", "cron", "every_seconds", "at")
_OF_DRAFT = (*_CREATING, "missed", "session", "expires_at", "recurring")


class ScheduleCronArgs(ToolArgs):
    action: Literal[
        "create", "list", "get", "update", "delete", "pause", "resume", "run_now", "history"
    ] = Field(default="list", description="What to do.")
    id: str | None = Field(
        default=None, min_length=1, max_length=64, description="ID of the schedule."
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        pattern=r"\S",
        description="Name of the schedule.",
    )
    prompt: str | None = Field(
        default=None, min_length=1, max_length=20_000, pattern=r"\S", description="Task to run."
    )
    cron: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Five fields: minute hour day month weekday.",
    )
    every_seconds: int | None = Field(
        default=None, ge=1, le=31_536_000, description="Instead of cron: seconds between runs."
    )
    at: str | None = Field(
        default=None,
        min_length=1,
        max_length=40,
        description="Instead of cron: one run; ISO time, or 'in 10m'.",
    )
    tz: ZoneName | None = Field(
        default=None, description="IANA time zone of cron and times; defaults to the operator's."
    )
    missed: Literal["skip", "once"] | None = Field(
        default=None,
        description="Runs missed while the service was stopped: skip them (default), or run once.",
    )
    session: Literal["fresh", "continue"] | None = Field(
        default=None, description="A new chat for each run (default), or one for all runs."
    )
    expires_at: str | None = Field(
        default=None, min_length=1, max_length=40, description="End time, as for `at`."
    )
    recurring: bool | None = Field(
        default=None, description="false with cron: run only once, then delete the schedule."
    )
    limit: int = Field(default=20, ge=1, le=500, description="history: maximum entries.")

    @model_validator(mode="after")
    def _complete(self) -> ScheduleCronArgs:
        given = [
            name for name in ("cron", "every_seconds", "at") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise FieldError(
                f"set one of cron, every_seconds and at, not {' and '.join(given)}",
                code="one_of",
                needed="cron, every_seconds, at",
            )
        if self.action == "create" and (not given or self.prompt is None):
            raise FieldError(
                "create requires prompt, and one of cron, every_seconds and at", code="create_needs"
            )
        if self.action not in ("create", "list") and self.id is None:
            raise FieldError(
                f"{self.action} requires id", code="needs", given=self.action, needed="id"
            )
        if self.recurring is False and (self.every_seconds is not None or self.at is not None):
            raise FieldError(
                "recurring=false is only valid with cron; omit it, because `at` runs once",
                code="only_with",
                given="recurring=false",
                needed="cron",
            )
        if self.action == "update" and not self.changes:
            raise FieldError("update requires a field to change", code="nothing_changes")
        return self

    @property
    def changes(self) -> dict[str, Any]:
        """Return the given fields of the draft."""
        changes = {name: value for name in _OF_DRAFT if (value := getattr(self, name)) is not None}
        return changes | ({"timezone": self.tz} if self.tz is not None else {})


def _from_cron_create(arguments: dict[str, Any]) -> dict[str, Any]:
    """`CronCreate`: `cron` or `schedule`, `prompt`, `description`, `recurring`, `durable`."""
    adapted = dict(arguments)
    adapted.pop("durable", None)  # all schedules are durable
    if "schedule" in adapted:
        adapted.setdefault("cron", adapted.pop("schedule"))
    if "description" in adapted:
        adapted.setdefault("name", adapted.pop("description"))
    return {"action": "create", **adapted}


def _from_cron_list(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"action": "list", **arguments}


def _from_cron_delete(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"action": "delete", **arguments}


def _as_created(result: ToolResult) -> ToolResult:
    """`{cron_id, schedule, prompt, enabled, created_at}`."""
    if not result.success:
        return result
    return ToolResult.ok(_claw(result.data["schedule"]), text=result.text)


def _as_listed(result: ToolResult) -> ToolResult:
    if not result.success:
        return result
    crons = [_claw(item) for item in result.data["schedules"]]
    return ToolResult.ok({"crons": crons, "count": len(crons)}, text=result.text)


def _as_deleted(result: ToolResult) -> ToolResult:
    if not result.success:
        return result
    return ToolResult.ok({"cron_id": result.data["schedule"]["id"], "deleted": True})


def _claw(schedule: dict[str, Any]) -> dict[str, Any]:
    return {
        "cron_id": schedule["id"],
        "schedule": schedule["when"],
        "prompt": schedule["prompt"],
        "enabled": not schedule["paused"] and schedule["next"] != [],
        "created_at": schedule["created_at"],
    }


@tool(
    category="automation",
    toolset="automation",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(SCHEDULES,),
    routing_hint="main-process-proxy",
    # A schedule would outlive the sub-agent and its limits.
    subagent_allowed=False,
    tags=("plan", "cron"),
    argument_aliases={
        "cron_id": "id",
        "job_id": "id",
        "schedule_id": "id",
        "cron_expr": "cron",
        "timezone": "tz",
        "message": "prompt",
    },
    aliases=(
        Alias("ScheduleCronTool", families=("jarvis",)),
        Alias("cron"),
        Alias("cron_create", _from_cron_create, _as_created),
        Alias("cron_list", _from_cron_list, _as_listed),
        Alias("cron_delete", _from_cron_delete, _as_deleted),
        Alias("CronCreate", _from_cron_create, _as_created, families=("claude",)),
        Alias("CronList", _from_cron_list, _as_listed),
        Alias("CronDelete", _from_cron_delete, _as_deleted),
    ),
    return_schema=SCHEDULE_CRON_RESULT,
)
async def schedule_cron(args: ScheduleCronArgs, ctx: ToolContext) -> ToolResult:
    """Schedule a task to run unattended, once or repeatedly, in its own chat as this agent.

    Actions: create, list, get, update, delete, pause, resume, run_now, history. Calls that require
    confirmation are denied unless the agent is set to wait. Returns the schedule with its next
    times, or its past runs. Schedules of other agents or projects are not visible.
    """
    schedules = ctx.services.require(SCHEDULES, Schedules)  # type: ignore[type-abstract]
    owner = ScheduleOwner.of(ctx)
    if args.action == "create":
        return _one("Created", await schedules.create(_draft(args), owner))
    if args.action == "list":
        return _listed([_fields(item) for item in await schedules.find(owner)])
    assert args.id is not None
    if args.action == "history":
        return _history_result(await schedules.history(owner, args.id, args.limit))
    if args.action == "run_now":
        return _history_result([await schedules.run_now(owner, args.id)])
    if args.action == "get":
        return _one("Schedule", await schedules.get(owner, args.id))
    if args.action == "delete":
        return _one("Deleted", await schedules.delete(owner, args.id))
    if args.action == "update":
        return _one("Changed", await schedules.update(owner, args.id, args.changes))
    paused = args.action == "pause"
    return _one(
        "Paused" if paused else "Resumed", await schedules.pause(owner, args.id, paused=paused)
    )


def _draft(args: ScheduleCronArgs) -> ScheduleInput:
    assert args.prompt is not None
    name = args.name or " ".join(args.prompt.split())[:60]
    return ScheduleInput(**{**args.changes, "name": name})


def _fields(schedule: Schedule) -> dict[str, Any]:
    timing = schedule.timing
    coming: list[str] = []
    if schedule.next_at is not None and not schedule.paused:
        coming = [schedule.next_at]
        after = timing.times(datetime.fromisoformat(schedule.next_at))
        coming += [isoformat(time) for time in islice(after, _COMING - 1)]
    return {
        "id": schedule.id,
        "name": schedule.name,
        "prompt": schedule.prompt,
        "when": _when(schedule),
        "recurring": timing.at is None,
        "timezone": timing.timezone,
        "next": [shown(time, timing.timezone) for time in coming],
        "missed": schedule.missed,
        "session": schedule.session,
        "agent_id": schedule.agent_id,
        "project_id": schedule.project_id,
        "expires_at": schedule.expires_at,
        "paused": schedule.paused,
        "created_at": schedule.created_at,
    }


def _when(schedule: Schedule) -> str:
    timing = schedule.timing
    if timing.cron is not None:
        return timing.cron
    if timing.every_seconds is not None:
        return f"every {timing.every_seconds} s"
    assert timing.at is not None
    return f"at {isoformat(timing.at)}"


def _one(what: str, schedule: Schedule) -> ToolResult:
    fields = _fields(schedule)
    return ToolResult.ok({"schedule": fields}, text=f"{what}: {_line(fields)}")


def _listed(schedules: list[dict[str, Any]]) -> ToolResult:
    data = {"schedules": schedules, "total": len(schedules)}
    lines = [_line(item) for item in schedules] or ["No schedules"]
    return ToolResult.ok(data, text="\n".join(lines), raw_result=RawResult("json", data))


def _line(fields: dict[str, Any]) -> str:
    state = f"paused: {fields['paused']}" if fields["paused"] else "no further runs"
    if fields["next"]:
        state = f"next {', '.join(fields['next'])}"
    when = fields["when"] if fields["recurring"] else f"once, {fields['when']}"
    return f"{fields['id']} {fields['name']!r} ({when}, {fields['timezone']}): {state}"


def _history_result(slots: Sequence[Occurrence]) -> ToolResult:
    data = {"history": [asdict(slot) for slot in slots]}
    lines = []
    for slot in slots:
        state = slot.run_status or slot.status
        reason = f" ({slot.reason})" if slot.reason else ""
        begun = f", run {slot.run_id} in {slot.session_id}" if slot.run_status else ""
        lines.append(f"{slot.scheduled_at} {state}{reason}{begun}")
    return ToolResult.ok(data, text="\n".join(lines) or "No runs yet")
