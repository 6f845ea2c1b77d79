"""Sharing of results between equal read calls of a session, never across a write."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.core.clock import Clock
from app.execution.outcome import CallOutcome
from app.toolkit.tool import Tool

MAX_ENTRIES = 10_000
MAX_BYTES = 32 << 20

Key = tuple[str, bytes]
_Place = tuple[str, str, Key]


@dataclass(frozen=True, slots=True)
class _CachedResult:
    outcome: CallOutcome
    epoch: int
    expires: float
    size: int


def _never(_: str) -> bool:
    return False


class ResultCache:
    """Results by session, scope, tool and canonical arguments; the oldest are evicted first.

    Every call with side effects increments the epoch of its scope (project or session) before it
    starts and after it ends, so results from before or during the call are not served again.
    Failures are not cached.

    Args:
        is_worked_in: whether a background process runs in a scope: it may write at any time, so
            nothing is shared.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        ttl_s: float = 300.0,
        enabled: bool = True,
        is_worked_in: Callable[[str], bool] = _never,
    ) -> None:
        self._clock = clock
        self._is_worked_in = is_worked_in
        self._ttl_s = ttl_s
        self.enabled = enabled and ttl_s > 0
        self._epochs: dict[str, int] = {}
        self._changes = 0
        self._kept: OrderedDict[_Place, _CachedResult] = OrderedDict()
        self._bytes = 0

    def epoch(self, scope: str) -> int | None:
        """Return the write counter, or None if it is currently unknown."""
        return None if self._is_worked_in(scope) else self._changes + self._epochs.get(scope, 0)

    def written(self, scope: str) -> None:
        """Invalidate `scope` after a possible write."""
        self._epochs[scope] = self._epochs.get(scope, 0) + 1

    def tools_changed(self) -> None:
        """Invalidate all scopes because the code of tools has changed."""
        self._changes += 1

    def get(self, session_id: str, scope: str, key: Key) -> CallOutcome | None:
        place = (session_id, scope, key)
        kept = self._kept.get(place)
        if kept is None:
            return None
        if kept.epoch != self.epoch(scope) or kept.expires <= self._clock.monotonic():
            self._drop(place)
            return None
        return kept.outcome

    def put(
        self, session_id: str, scope: str, key: Key, outcome: CallOutcome, epoch: int | None
    ) -> None:
        """Store a success that was computed entirely within `epoch`."""
        if not outcome.success or epoch is None or epoch != self.epoch(scope):
            return
        place = (session_id, scope, key)
        self._drop(place)
        # The structured result contains the text as well.
        size = 2 * len(outcome.text) + len(key[1]) + 500
        if size > MAX_BYTES // 8:
            return
        self._kept[place] = _CachedResult(
            outcome, epoch, self._clock.monotonic() + self._ttl_s, size
        )
        self._bytes += size
        while self._bytes > MAX_BYTES or len(self._kept) > MAX_ENTRIES:
            self._drop(next(iter(self._kept)))

    def _drop(self, place: _Place) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            self._bytes -= kept.size

    def may_keep(self, tool: Tool) -> bool:
        return self.enabled and tool.cacheable and not tool.has_side_effects
