"""Throttle for failed sign-ins, by address and account, with increasing lockouts.

Each stop is twice as long as the one before, up to a longest one, and what is refused meanwhile is
not looked at and makes it no longer: nobody can keep others out for ever. Who has come in with a
token from an address keeps that way open, whatever others do from there. Nothing depends on whether
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
# An account may be tried from several addresses, which each have their own number.
ACCOUNT_FACTOR = 5
_SETTINGS_ACCOUNT = "the token of the settings"
_PREFIX_CHARS = 8

# What was stopped (an address, or an account), for how many seconds.
OnStop = Callable[[str, float], None]


@dataclass(slots=True)
class _Record:
    bucket: TokenBucket
    stops: int = 0
    until: float = float("-inf")


class Stops:
    """Failures by key: a few at once, then stops that become longer.

    Keys that were quiet the longest are forgotten first when there are too many.
    """

    def __init__(self, clock: Clock, per_minute: float, first_s: float, longest_s: float) -> None:
        self._clock = clock
        self._burst = per_minute
        self._first_s = min(first_s, longest_s)
        self._longest_s = longest_s
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def left(self, key: str) -> float:
        """For how many seconds a key is still stopped."""
        record = self._records.get(key)
        return 0.0 if record is None else max(0.0, record.until - self._clock.monotonic())

    def failed(self, key: str) -> float:
        """Count a failure; for how many seconds it stops the key, 0 when it does not."""
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
    """Which attempts to come in are looked at."""

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
        """Refuse an attempt that must not be looked at now.

        Raises:
            RateLimited: too many have failed; `retry_after_ms` says when to try again.
        """
        address = share_of(source)
        if _way(address, token) in self._known:
            return
        left = max(self._addresses.left(address), self._accounts.left(account_of(token)))
        if left:
            wait_ms = int(left * 1000) + 1
            raise RateLimited("Too many failed attempts; wait a moment", retry_after_ms=wait_ms)

    def failed(self, token: str, source: str) -> None:
        """The attempt was looked at, and the token was wrong."""
        address, account = share_of(source), account_of(token)
        for stops, key in ((self._addresses, address), (self._accounts, account)):
            seconds = stops.failed(key)
            if seconds:
                self._on_stop(key, seconds)

    def succeeded(self, token: str, source: str) -> None:
        """The token was right: from this address it is looked at from now on."""
        way = _way(share_of(source), token)
        self._known[way] = None
        self._known.move_to_end(way)
        if len(self._known) > MAX_KEYS:
            self._known.popitem(last=False)


def account_of(token: str) -> str:
    """Whose token is tried, as far as the attempt itself tells."""
    return token[:_PREFIX_CHARS] if token.startswith(PREFIX) else _SETTINGS_ACCOUNT


def is_guessable(token: str) -> bool:
    """Return whether an attempt may be a guess: generated tokens are random, the one from the
    settings may be words.
    """
    return not token.startswith(PREFIX)


def _way(address: str, token: str) -> tuple[str, bytes]:
    return address, sha256(token.encode("utf-8", "surrogatepass")).digest()
