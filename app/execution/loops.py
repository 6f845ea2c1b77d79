"""Detection of agents that repeat the same call with the same result."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass

MAX_SESSIONS = 1024
MAX_CALLS = 512

# Values that change on every call without meaning: times, dates, durations, long hex IDs.
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?|\b\d\d:\d\d:\d\d\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|\b(?:0x)?[0-9a-f]{12,}\b",
    re.IGNORECASE,
)
_LOOKED_AT = 20_000

Key = tuple[str, bytes]


@dataclass(slots=True)
class _Seen:
    """Last result of a call. Normalizing costs 0.1 ms per kilobyte, so it is deferred."""

    exact: int
    normalised: int | None = None
    times: int = 1

    def compare(self, text: str) -> None:
        """Increment if the result equals the last one; otherwise restart the count."""
        exact = hash(text)
        if exact == self.exact:
            self.times += 1
            return
        self.exact = exact
        normalised = _digest(text)
        self.times = self.times + 1 if normalised == self.normalised else 1
        self.normalised = normalised


class LoopGuard:
    """Counts identical calls with identical results per session; another write resets the count."""

    def __init__(self, *, warn_after: int = 3, refuse_after: int = 6) -> None:
        self.warn_after = warn_after
        self.refuse_after = max(refuse_after, warn_after + 1)
        self._sessions: OrderedDict[str, OrderedDict[Key, _Seen]] = OrderedDict()

    def refuses(self, session_id: str, key: Key) -> int:
        """Return how often the call was seen if it must not run again, else 0."""
        calls = self._sessions.get(session_id)
        seen = calls.get(key) if calls else None
        return seen.times if seen and seen.times >= self.refuse_after else 0

    def note(self, session_id: str, key: Key, text: str, *, wrote: bool) -> str | None:
        """Count a finished call; return a warning for the model if it repeats itself."""
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
        """Return the calls of a session, and mark it as most recently used."""
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
