"""Throttle for failed sign-ins, by address and account, with increasing lockouts.

Each lockout is twice as long as the previous one, up to a maximum. Attempts during a lockout are
refused unchecked and do not extend it, so that an attacker cannot lock others out forever. A token
that has succeeded from an address is never locked out there. The behavior does not reveal whether
an account exists.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from app.api.connection_limits import share_of
from app.core.clock import Clock
from app.core.errors import RateLimited
from app.core.token_bucket import MINUTE_S, TokenBucket
from app.governance.identity.tokens import PREFIX

MAX_KEYS = 10_000
ADDRESS_STOP_S = 15.0
ACCOUNT_STOP_S = 5.0
LONGEST_ACCOUNT_STOP_S = 60.0
# Several addresses can try one account, each within its own limit.
ACCOUNT_FACTOR = 5
_SETTINGS_ACCOUNT = "the token of the settings"
_PREFIX_CHARS = 8

# Called with the locked address or account, and the duration in seconds.
OnStop = Callable[[str, float], None]


@dataclass(slots=True)
class _Record:
    bucket: TokenBucket
    stops: int = 0
    until: float = float("-inf")


class Stops:
    """Failures by key: a burst is allowed, then follow lockouts of increasing length.

    Above `MAX_KEYS` keys, the one with the oldest failure is dropped first.
    """

    def __init__(self, clock: Clock, per_minute: float, first_s: float, longest_s: float) -> None:
        self._clock = clock
        self._burst = per_minute
        self._first_s = min(first_s, longest_s)
        self._longest_s = longest_s
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def left(self, key: str) -> float:
        """Return the remaining seconds of a key's lockout, or 0."""
        record = self._records.get(key)
        return 0.0 if record is None else max(0.0, record.until - self._clock.monotonic())

    def failed(self, key: str) -> float:
        """Count a failure; return the seconds of the lockout that it causes, or 0."""
        now = self._clock.monotonic()
        record = self._records.pop(key, None) or _Record(TokenBucket.per_minute(self._burst, now))
        self._records[key] = record
        if len(self._records) > MAX_KEYS:
            self._records.popitem(last=False)
        record.bucket.refill(now)
        record.bucket.level = max(record.bucket.level - 1, 0.0)
        if now - record.until > max(MINUTE_S, self._length(record.stops)):
            record.stops = 0
        if record.bucket.has_token():
            return 0.0
        record.stops += 1
        seconds = self._length(record.stops)
        record.until = now + seconds
        return seconds

    def _length(self, stops: int) -> float:
        return min(self._longest_s, self._first_s * 2.0 ** min(max(stops - 1, 0), 30))


class LoginThrottle:
    """Throttle that decides which sign-in attempts are checked."""

    def __init__(
        self, clock: Clock, per_minute: int, longest_s: float, on_stop: OnStop = lambda *_: None
    ) -> None:
        self._addresses = Stops(clock, per_minute, ADDRESS_STOP_S, longest_s)
        longest = min(longest_s, LONGEST_ACCOUNT_STOP_S)
        many = per_minute * ACCOUNT_FACTOR
        self._accounts = Stops(clock, many, ACCOUNT_STOP_S, longest)
        self._known: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._on_stop = on_stop

    def check(self, token: str, source: str) -> None:
        """Refuse an attempt during a lockout.

        Raises:
            RateLimited: too many attempts have failed; `retry_after_ms` is the time to wait.
        """
        address = share_of(source)
        if _way(address, token) in self._known:
            return
        left = max(self._addresses.left(address), self._accounts.left(account_of(token)))
        if left:
            wait_ms = int(left * 1000) + 1
            raise RateLimited("Too many failed attempts; wait a moment", retry_after_ms=wait_ms)

    def failed(self, token: str, source: str) -> None:
        """Count an attempt with a wrong token."""
        address, account = share_of(source), account_of(token)
        for stops, key in ((self._addresses, address), (self._accounts, account)):
            seconds = stops.failed(key)
            if seconds:
                self._on_stop(key, seconds)

    def succeeded(self, token: str, source: str) -> None:
        """Exempt a valid token from lockouts of this address from now on."""
        way = _way(share_of(source), token)
        self._known[way] = None
        self._known.move_to_end(way)
        if len(self._known) > MAX_KEYS:
            self._known.popitem(last=False)


def account_of(token: str) -> str:
    """Return the account of an attempt: the token's prefix, or the token from the settings."""
    return token[:_PREFIX_CHARS] if token.startswith(PREFIX) else _SETTINGS_ACCOUNT


def is_guessable(token: str) -> bool:
    """Return whether a token may be a guess; only generated tokens are certainly random."""
    return not token.startswith(PREFIX)


def _way(address: str, token: str) -> tuple[str, bytes]:
    return address, sha256(token.encode("utf-8", "surrogatepass")).digest()
