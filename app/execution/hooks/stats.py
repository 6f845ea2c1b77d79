"""Statistics of hooks: counts since the start, and recent durations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from app.execution.hooks.model import HookFailure

KEPT = 512


@dataclass(slots=True)
class HookStats:
    """Statistics of one hook. `failures` are infrastructure errors, not denials."""

    calls: int = 0
    asks: int = 0
    denies: int = 0
    changes: int = 0
    failures: int = 0
    last_failure: HookFailure | None = None
    last_failed_at: str | None = None
    _durations: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def ran(self, seconds: float) -> None:
        """Record the duration of an answer."""
        self.calls += 1
        self._durations.append(seconds)

    def failed(self, failure: HookFailure, moment: str) -> None:
        """Record a failure to answer."""
        self.failures += 1
        self.last_failure, self.last_failed_at = failure, moment

    def percentile_ms(self, share: float) -> float | None:
        """Return the percentile `share` of the recent durations, in milliseconds."""
        if not self._durations:
            return None
        ordered = sorted(self._durations)
        place = min(len(ordered) - 1, int(share * len(ordered)))
        return round(ordered[place] * 1000, 3)
