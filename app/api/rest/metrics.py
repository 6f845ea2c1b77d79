"""Metrics of the service in Prometheus format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app.core.metrics import Metrics

UNKNOWN = "unknown"


class MetricsCollector(Collector):
    """Collector that renders `Metrics` on request.

    Args:
        tools: names that become labels; other called names are `unknown`, so that callers cannot
            create labels.
    """

    def __init__(self, metrics: Metrics, tools: Collection[str]) -> None:
        self._metrics = metrics
        self._tools = tools

    def collect(self) -> Iterator[Metric]:
        yield self._calls()
        yield self._seconds()
        yield from self._counters()
        yield self._notifications()
        for name, value in sorted(self._metrics.gauges.items()):
            gauge = GaugeMetricFamily(f"tollgate_{name}", _words(name))
            gauge.add_metric([], value)
            yield gauge

    def _calls(self) -> Metric:
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for (tool, status), count in self._metrics.calls.items():
            counts[self._label(tool), status] += count
        family = CounterMetricFamily(
            "tollgate_tool_calls", "Finished tool calls", labels=("tool", "status")
        )
        for labels, count in sorted(counts.items()):
            family.add_metric(labels, count)
        return family

    def _seconds(self) -> Metric:
        family = HistogramMetricFamily(
            "tollgate_tool_call_seconds", "Duration of tool calls in seconds", labels=("tool",)
        )
        for tool in sorted(set(self._metrics.call_seconds) & set(self._tools)):
            buckets, total = self._metrics.buckets(tool)
            family.add_metric([tool], list(buckets.items()), total)
        return family

    def _counters(self) -> Iterator[Metric]:
        by_name: dict[str, dict[str, int]] = defaultdict(dict)
        for (name, label), count in self._metrics.counters.items():
            by_name[name][label] = count
        for name, counts in sorted(by_name.items()):
            family = CounterMetricFamily(f"tollgate_{name}", _words(name), labels=("kind",))
            for label, count in sorted(counts.items()):
                family.add_metric([label], count)
            yield family

    def _notifications(self) -> Metric:
        family = CounterMetricFamily(
            "tollgate_notifications", "Attempts to send notifications", labels=("kind", "state")
        )
        for labels, count in sorted(self._metrics.notifications.items()):
            family.add_metric(labels, count)
        return family

    def _label(self, tool: str) -> str:
        return tool if tool in self._tools else UNKNOWN


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()
