"""What happens to a confirmation that nobody answers: reminders, further approvers, and its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.governance.approvals.approver import ApprovalTerms

REMINDERS = (0.5, 0.9)
"""Parts of the lifetime after which approvers are reminded."""
CHECK_S = 60.0
"""Seconds after which the clock is read again, which may have been set."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """Moment in the life of an open confirmation.

    Attributes:
        at: Unix time.
        number: number of the moment, of those of its kind.
    """

    at: float
    kind: Literal["reminder", "escalated", "expired"]
    number: int = 1


def reminders(opened: float, expires: float | None) -> list[float]:
    """Return the times of the reminders; none for a request without an end."""
    if expires is None:
        return []
    return [opened + part * (expires - opened) for part in REMINDERS]


def milestones(
    *,
    expires: float | None,
    reminded: Iterable[float],
    terms: ApprovalTerms | None,
    now: float,
) -> list[Milestone]:
    """Return what is still to come, next first. The end is never dropped, even if it has passed."""
    steps = terms.steps if terms is not None else ()
    coming = [
        *(Milestone(step.at, "escalated", number) for number, step in enumerate(steps)),
        *(Milestone(at, "reminder", number) for number, at in enumerate(reminded, 1)),
    ]
    coming = [item for item in coming if item.at > now]
    if expires is not None:
        coming = [item for item in coming if item.at < expires]
        coming.append(Milestone(expires, "expired"))
    return sorted(coming, key=lambda item: item.at)
