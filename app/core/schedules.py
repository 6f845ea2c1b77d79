"""Settings of schedules."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from app.core.sections import Section


class ScheduleSettings(Section):
    """Runs that begin by the clock."""

    timezone: str = Field(
        default="UTC", description="IANA time zone of a schedule that names none."
    )
    per_user: int = Field(default=50, ge=0, description="Schedules of one user; 0 allows none.")
    min_interval_s: int = Field(
        default=60, ge=1, description="Seconds between two runs of a schedule, at least."
    )
    grace_s: int = Field(
        default=60,
        ge=1,
        description="Seconds after its time that a run still counts as on time; later it was "
        "missed.",
    )
    history: int = Field(default=500, ge=1, description="Times that are remembered per schedule.")

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"unknown time zone {value!r}; such as Europe/Berlin") from None
        return value
