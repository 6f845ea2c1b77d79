"""Token bucket for rate limits."""

from __future__ import annotations

from math import ceil

from app.core.errors import RateLimited

MINUTE_S = 60.0
# Rounding of times must not cost a token.
_ROUNDING = 1e-9


class TokenBucket:
    """Token bucket that starts full.

    The caller passes the time, in seconds of a monotonic clock.

    Attributes:
        size: tokens in a full bucket.
        per_s: tokens added per second.
        level: tokens at the time `at`.
    """

    __slots__ = ("at", "level", "per_s", "size")

    def __init__(self, size: float, per_s: float, now: float) -> None:
        self.size = size
        self.per_s = per_s
        self.level = size
        self.at = now

    @classmethod
    def per_minute(cls, size: float, now: float) -> TokenBucket:
        """Create a bucket that refills in a minute."""
        return cls(size, size / MINUTE_S, now)

    def limit_to(self, per_minute: float) -> None:
        """Change the size and the refill rate, for example after a change of a setting."""
        self.size = per_minute
        self.per_s = per_minute / MINUTE_S

    def refill(self, now: float) -> None:
        """Add the tokens since the last refill."""
        self.level = min(self.size, self.level + (now - self.at) * self.per_s)
        self.at = now

    def has_token(self) -> bool:
        """Return whether a token is available, as of the last `refill`."""
        return self.level >= 1 - _ROUNDING

    def wait_ms(self) -> int | None:
        """Return the milliseconds until a token is available; None if none is added."""
        return ceil((1 - self.level) / self.per_s * 1000) if self.per_s else None

    def spend(self, now: float, message: str) -> None:
        """Take a token.

        Raises:
            RateLimited: no token is available; `retry_after_ms` is the time until there is one.
        """
        self.refill(now)
        if not self.has_token():
            raise RateLimited(message, retry_after_ms=self.wait_ms())
        self.level -= 1
