"""Token bucket: so many at once after a pause, refilled evenly."""

from __future__ import annotations

from math import ceil

from app.core.errors import RateLimited

MINUTE_S = 60.0
# Rounding of times must not cost a token.
_ROUNDING = 1e-9


class TokenBucket:
    """A bucket that starts full.

    The caller passes the time, in seconds of a clock that never goes back.

    Attributes:
        size: tokens in a full bucket.
        per_s: tokens that come back each second.
        level: tokens that were left at `at`.
    """

    __slots__ = ("at", "level", "per_s", "size")

    def __init__(self, size: float, per_s: float, now: float) -> None:
        self.size = size
        self.per_s = per_s
        self.level = size
        self.at = now

    @classmethod
    def per_minute(cls, size: float, now: float) -> TokenBucket:
        """A bucket that refills in a minute."""
        return cls(size, size / MINUTE_S, now)

    def limit_to(self, per_minute: float) -> None:
        """Change the size, for instance because a setting has changed."""
        self.size = per_minute
        self.per_s = per_minute / MINUTE_S

    def refill(self, now: float) -> None:
        """Add what has come back since the last time."""
        self.level = min(self.size, self.level + (now - self.at) * self.per_s)
        self.at = now

    def has_token(self) -> bool:
        """Return whether a token is available, as of the last `refill`."""
        return self.level >= 1 - _ROUNDING

    def wait_ms(self) -> int | None:
        """Milliseconds until a token is left; None when none comes back."""
        return ceil((1 - self.level) / self.per_s * 1000) if self.per_s else None

    def spend(self, now: float, message: str) -> None:
        """Take a token.

        Raises:
            RateLimited: none is left; `retry_after_ms` says when one will be.
        """
        self.refill(now)
        if not self.has_token():
            raise RateLimited(message, retry_after_ms=self.wait_ms())
        self.level -= 1
