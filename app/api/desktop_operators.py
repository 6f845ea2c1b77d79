"""Identity and rate limits of desktop operators."""

from __future__ import annotations

from app.api.principal import Principal
from app.api.ws.limits import CommandRate

DESKTOP_SCOPE = "desktop"
MAX_TOKENS_SEEN = 1000


def key_of(principal: Principal) -> str:
    """Return the owner of a claim: the token, or the user if there is no token."""
    return principal.token_id or f"user:{principal.user_id}"


class OperatorRates:
    """Rate limits for the operators of each token."""

    def __init__(self) -> None:
        self._rates: dict[str, CommandRate] = {}

    def spend(self, key: str, rate: float, burst: int) -> None:
        """Count one request.

        Raises:
            RateLimited: the token has sent too many.
        """
        if key not in self._rates and len(self._rates) >= MAX_TOKENS_SEEN:
            self._rates.pop(next(iter(self._rates)))
        self._rates.setdefault(key, CommandRate(rate, burst)).spend()
