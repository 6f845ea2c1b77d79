"""Counters that only update a dict; they are rendered when Prometheus requests them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

BUCKETS_S = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """Counters of the service. All methods run on the loop's thread."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], int] = defaultdict(int)
        self.call_seconds: dict[str, list[float]] = {}
        self.counters: dict[tuple[str, str], int] = defaultdict(int)
        self.notifications: dict[tuple[str, str], int] = defaultdict(int)
        self.gauges: dict[str, float] = {}

    def call(self, tool: str, status: str, seconds: float) -> None:
        """Count a finished call."""
        self.calls[tool, status] += 1
        histogram = self.call_seconds.get(tool)
        if histogram is None:
            # One slot per bucket, one for +Inf, then the sum.
            histogram = self.call_seconds[tool] = [0.0] * (len(BUCKETS_S) + 2)
        histogram[bisect_left(BUCKETS_S, seconds)] += 1
        histogram[-1] += seconds

    def count(self, name: str, label: str = "", by: int = 1) -> None:
        """Increase a counter."""
        self.counters[name, label] += by

    def notification(self, kind: str, state: str) -> None:
        """Count the outcome of an attempt to send a notification."""
        self.notifications[kind, state] += 1

    def gauge(self, name: str, change: float) -> None:
        """Change a gauge."""
        self.gauges[name] = self.gauges.get(name, 0) + change

    def buckets(self, tool: str) -> tuple[Mapping[str, float], float]:
        """Return the cumulative histogram of a tool, and its sum of seconds."""
        histogram = self.call_seconds[tool]
        total = 0.0
        cumulative: dict[str, float] = {}
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), histogram[:-1], strict=True):
            total += count
            cumulative[bound] = total
        return cumulative, histogram[-1]
