"""Checks whether a connected client's rights have ended."""

from __future__ import annotations

import asyncio

from app.api.auth import Authenticator
from app.api.principal import Principal
from app.api.ws import close_codes
from app.core.errors import StorageUnavailable

_ENDS = {"expired": close_codes.TOKEN_EXPIRED, "revoked": close_codes.REVOKED}


async def end_of_rights(
    authenticator: Authenticator, principal: Principal, *, active: bool = False
) -> close_codes.Close | None:
    """Return how to close if the client's rights have ended; None if valid or not readable."""
    try:
        return _ENDS.get(await authenticator.standing(principal, active=active))
    except StorageUnavailable:
        return None


async def wait_for_end_of_rights(
    authenticator: Authenticator, principal: Principal, pause_s: float
) -> close_codes.Close:
    """Check the client's rights every `pause_s` seconds until they end."""
    while True:
        await asyncio.sleep(pause_s)
        end = await end_of_rights(authenticator, principal)
        if end is not None:
            return end
