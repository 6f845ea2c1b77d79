"""Settings of schedules."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from app.config.sections import Section


class ScheduleSettings(Section):
    """Runs that begin by the clock."""

    timezone: str = Field(default="UTC", description="Default IANA time zone of schedules.")
    per_user: int = Field(
        default=50, ge=0, description="Maximum number of schedules per user; 0 allows none."
    )
    min_interval_s: int = Field(
        default=60, ge=1, description="Minimum number of seconds between two runs of a schedule."
    )
    grace_s: int = Field(
        default=60,
        ge=1,
        description="Seconds after its due time within which a run is on time; later it is missed.",
    )
    history: int = Field(
        default=500, ge=1, description="Number of past occurrences to keep per schedule."
    )

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"unknown time zone {value!r}: use an IANA name such as Europe/Berlin"
            ) from None
        return value
