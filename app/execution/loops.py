"""Noticing that an agent turns in circles: the same call, the same result, again and again."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass

MAX_SESSIONS = 1024
MAX_CALLS = 512

# What changes on every call and means nothing: times, dates, durations, long hex ids.
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?|\b\d\d:\d\d:\d\d\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|\b(?:0x)?[0-9a-f]{12,}\b",
    re.IGNORECASE,
)
_LOOKED_AT = 20_000

Key = tuple[str, bytes]


@dataclass(slots=True)
class _Seen:
    """One call's last result. Normalising costs 0.1 ms a kilobyte: only at a second look."""

    exact: int
    normalised: int | None = None
    times: int = 1

    def compare(self, text: str) -> None:
        """Count on when the result is the same as last time, else begin anew."""
        exact = hash(text)
        if exact == self.exact:
            self.times += 1
            return
        self.exact = exact
        normalised = _digest(text)
        self.times = self.times + 1 if normalised == self.normalised else 1
        self.normalised = normalised


class LoopGuard:
    """Counts equal calls with equal results per session; another write starts the count anew."""

    def __init__(self, *, warn_after: int = 3, refuse_after: int = 6) -> None:
        self.warn_after = warn_after
        self.refuse_after = max(refuse_after, warn_after + 1)
        self._sessions: OrderedDict[str, OrderedDict[Key, _Seen]] = OrderedDict()

    def refuses(self, session_id: str, key: Key) -> int:
        """How often the call was seen when it must not run again, else 0."""
        calls = self._sessions.get(session_id)
        seen = calls.get(key) if calls else None
        return seen.times if seen and seen.times >= self.refuse_after else 0

    def note(self, session_id: str, key: Key, text: str, *, wrote: bool) -> str | None:
        """Count a finished call; a warning for the model when it repeats itself."""
        calls = self._of(session_id)
        seen = calls.get(key)
        if seen is None:
            seen = calls[key] = _Seen(hash(text))
            if len(calls) > MAX_CALLS:
                calls.popitem(last=False)
        else:
            seen.compare(text)
            calls.move_to_end(key)
        if wrote:
            for other in [k for k in calls if k != key]:
                del calls[other]
        if seen.times < self.warn_after:
            return None
        return (
            f"Note: this exact call has now returned this same result {seen.times} "
            "times. Repeating it will not help; change the arguments or try another "
            "way."
        )

    def _of(self, session_id: str) -> OrderedDict[Key, _Seen]:
        """The calls of a session, which is now the last to be forgotten."""
        calls = self._sessions.get(session_id)
        if calls is None:
            calls = self._sessions[session_id] = OrderedDict()
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session_id)
        return calls


def _digest(text: str) -> int:
    return hash(_VOLATILE.sub("·", text[:_LOOKED_AT]))
