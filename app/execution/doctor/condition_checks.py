"""Checks of doctor on the running service: whether it accepts new work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.execution.conditions import HealthCondition
from app.execution.doctor.check import Check, State


def condition_checks(conditions: Sequence[HealthCondition]) -> Iterator[Check]:
    """Check for present problems of the service."""
    if not conditions:
        yield Check("condition", "ok", "condition.none")
    for condition in conditions:
        state: State = "warning" if condition.refuses == "nothing" else "broken"
        yield Check(
            f"condition.{condition.code}",
            state,
            f"condition.{condition.code}",
            **condition.values,
        )
