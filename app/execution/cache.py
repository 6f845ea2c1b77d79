"""Sharing results of equal read calls inside a session, never across a write."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from app.core.clock import Clock
from app.execution.outcome import CallOutcome
from app.toolkit.tool import Tool

MAX_PER_SESSION = 256
MAX_SESSIONS = 1024

Key = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class _Kept:
    outcome: CallOutcome
    epoch: int
    expires: float


class ResultCache:
    """Results by session, scope, tool and canonical arguments.

    Every call with side effects bumps the epoch of its scope (project or session), before
    it starts and after it ends: whatever was read before or meanwhile is not served again.
    Failures are never kept.
    """

    def __init__(self, clock: Clock, *, ttl_s: float = 300.0, enabled: bool = True) -> None:
        self._clock = clock
        self._ttl_s = ttl_s
        self.enabled = enabled and ttl_s > 0
        self._epochs: dict[str, int] = {}
        self._sessions: OrderedDict[str, OrderedDict[tuple[str, Key], _Kept]] = OrderedDict()

    def epoch(self, scope: str) -> int:
        return self._epochs.get(scope, 0)

    def written(self, scope: str) -> None:
        """Something in `scope` may have changed."""
        self._epochs[scope] = self._epochs.get(scope, 0) + 1

    def get(self, session_id: str, scope: str, key: Key) -> CallOutcome | None:
        kept_of_session = self._sessions.get(session_id)
        kept = kept_of_session.get((scope, key)) if kept_of_session else None
        if kept is None or kept_of_session is None:
            return None
        if kept.epoch != self.epoch(scope) or kept.expires <= self._clock.monotonic():
            del kept_of_session[scope, key]
            return None
        return kept.outcome

    def put(self, session_id: str, scope: str, key: Key, outcome: CallOutcome, epoch: int) -> None:
        """Keep a success that was computed entirely within `epoch`."""
        if not outcome.success or epoch != self.epoch(scope):
            return
        kept = self._sessions.setdefault(session_id, OrderedDict())
        self._sessions.move_to_end(session_id)
        kept[scope, key] = _Kept(outcome, epoch, self._clock.monotonic() + self._ttl_s)
        if len(kept) > MAX_PER_SESSION:
            kept.popitem(last=False)
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def may_keep(self, tool: Tool) -> bool:
        return self.enabled and tool.cacheable and not tool.has_side_effects
