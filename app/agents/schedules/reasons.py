"""Reasons of pauses and missed occurrences, as codes and sentences."""

from __future__ import annotations

from typing import NamedTuple


class ScheduleReason(NamedTuple):
    """Stable machine code, and a sentence for people."""

    code: str
    sentence: str


PAUSED = ScheduleReason(code="schedule_paused", sentence="paused")
HELD = ScheduleReason(code="schedule_held", sentence="paused by an administrator")
EXPIRED = ScheduleReason(code="schedule_expired", sentence="expired")

SCHEDULE_GONE = ScheduleReason(code="schedule_gone", sentence="The schedule was deleted")
STOPPED = ScheduleReason(
    code="service_stopped", sentence="The service stopped before the run started"
)
BUSY = ScheduleReason(code="run_not_ended", sentence="The previous run has not ended")
INTERNAL = ScheduleReason(
    code="internal", sentence="The run could not start; the service's log has the reason"
)
TOKEN_GONE = ScheduleReason(
    code="token_gone", sentence="The token that created this schedule is no longer valid"
)


def missed(count: int) -> ScheduleReason:
    """Return the reason for occurrences missed before this one."""
    return ScheduleReason(
        code="times_missed",
        sentence=f"{count} occurrences were missed while the service was stopped",
    )


def paused_because(paused: str) -> ScheduleReason:
    """Return the reason for an occurrence of a schedule that has been paused since."""
    return ScheduleReason(code="schedule_still", sentence=f"The schedule is paused: {paused}")
