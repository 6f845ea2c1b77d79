"""Where an allowed host is reached: resolved once, checked, and kept for a while."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from app.operations.egress.refusal import ConnectionRefused, Destination
from app.operations.web.addresses import Reach
from app.operations.web.resolver import AddressResolver

_KEPT_S = 60.0
_MOST_KEPT = 4_000
_RESOLVE_S = 10.0


class HostDestinations(Protocol):
    """Decides where hosts are reached."""

    async def of(self, host: str, port: int) -> Sequence[Destination]:
        """Return checked addresses of a normalised host, best first.

        Raises:
            ConnectionRefused: it has none, or one of them may not be reached.
        """


class CheckedDestinations:
    """Addresses from a resolver, all checked: one that is refused refuses the host.

    Args:
        reach: addresses that may be reached.
        setting: setting that allows more of them.
    """

    def __init__(self, resolver: AddressResolver, reach: Reach, setting: str) -> None:
        self._resolver = resolver
        self._reach = reach
        self._setting = setting
        self._kept: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def of(self, host: str, port: int) -> Sequence[Destination]:
        addresses = await self._addresses(host, port)
        for address in addresses:
            if (why := self._reach.refuses(address, port)) is not None:
                raise ConnectionRefused(
                    "address_refused",
                    f"{host} resolves to an address {why}; an operator can allow it with "
                    f"{self._setting}",
                )
        return [(address, port) for address in addresses]

    async def _addresses(self, host: str, port: int) -> tuple[str, ...]:
        try:
            return (str(ipaddress.ip_address(host)),)
        except ValueError:
            pass
        until, found = self._kept.get(host, (0.0, ()))
        if monotonic() < until:
            return found
        try:
            async with asyncio.timeout(_RESOLVE_S):
                found = tuple(await self._resolver.resolve(host, port))
        except (OSError, UnicodeError, TimeoutError):
            found = ()
        if not found:
            raise ConnectionRefused("unreachable", f"{host} has no address")
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[host] = monotonic() + _KEPT_S, found
        return found
