"""Why a schedule stands still, and what became of its times: for programs and for people."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """A machine code that keeps its meaning, and a sentence for people."""

    code: str
    sentence: str


PAUSED = Reason(code="schedule_paused", sentence="paused")
HELD = Reason(code="schedule_held", sentence="paused by an administrator")
EXPIRED = Reason(code="schedule_expired", sentence="expired")

SCHEDULE_GONE = Reason(code="schedule_gone", sentence="The schedule was deleted meanwhile")
STOPPED = Reason(code="service_stopped", sentence="The service stopped before the run began")
BUSY = Reason(code="run_not_ended", sentence="The run before has not ended")
TOKEN_GONE = Reason(code="token_gone", sentence="The token that made this schedule no longer holds")


def missed(count: int) -> Reason:
    """Times that passed before this one was looked at."""
    return Reason(
        code="times_missed", sentence=f"{count} times passed while the service stood still"
    )


def standing_still(paused: str) -> Reason:
    """A time left behind of a schedule that was paused since."""
    return Reason(code="schedule_still", sentence=f"The schedule stands still: {paused}")
