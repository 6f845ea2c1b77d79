"""Limits on open connections, and the choice of which one to close first.

The limit of open files is usually reached first, and then no connection can be accepted, so there
are fewer slots than file descriptors. Unauthenticated connections share the slots of their address.
If no slot is free, the connection that has been idle longest is closed; if all are busy, the new
connection gets a spare slot: it receives one response, which is a health check or a refusal with
the time to retry. When spare slots run out, the oldest one that waits for its client is closed.

A busy service reads late, so a connection counts as idle only if the service has checked it for
data in the meantime, which two sweeps guarantee.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import islice
from typing import Any, Protocol

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.config.server import ServingSettings
from app.core.errors import Overloaded, TollgateError
from app.core.machine_limits import file_limit

EXTENSION = "tollgate.place"
SHARE_FULL = "Too many unauthenticated connections from this address; try again later"
_SPARE_S = 2.0
_PATIENCE_S = 1.0
# One sweep can run between accepting a connection and first reading from it; a second cannot.
_SWEEPS = 2
_RETRY_MS = 2000
_SPARE_PART = 3
_SPARE_MOST = 256
_LEAST_PLACES = 8
_IPV6_NETWORK = 64


class ConnectionHolder(Protocol):
    """Holder of a slot: the protocol of one connection."""

    def is_waiting_since(self) -> float | None:
        """Return since when it waits for a request; None while one is in progress."""

    def is_incomplete(self) -> bool:
        """Return whether the client still has to send the rest of a body, or a `hello`."""

    def is_answering(self) -> bool:
        """Return whether a complete request is still unanswered."""

    def refuse(self, error: TollgateError) -> None:
        """Respond instead of the application, if possible, and close the connection."""

    def look_after(self, now: float) -> None:
        """Enforce the connection's timeouts."""

    def drop(self) -> None:
        """Close the connection without a response."""


class ConnectionSlot:
    """Slot of one connection.

    Attributes:
        address: address whose share it counts against; None for no share, as after sign-in.
        is_proxied: the peer is a trusted proxy, which sends requests of several clients.
        is_spare: it receives only one response.
        since: when it was opened or added to its share, in seconds of the clock.
        joined: number of the last sweep before `since`.
        sweep: number of the last sweep before it started waiting for its client.
    """

    __slots__ = (
        *("_limits", "address", "holder", "is_known", "is_proxied", "is_spare"),
        *("joined", "since", "sweep"),
    )

    def __init__(
        self, limits: ConnectionLimits, holder: ConnectionHolder, *, is_proxied: bool
    ) -> None:
        self._limits = limits
        self.holder = holder
        self.is_proxied = is_proxied
        self.address: str | None = None
        self.is_known = False
        self.is_spare = False
        self.since = limits.now()
        self.joined = self.sweep = limits.sweeps

    def sign_in(self) -> None:
        """Mark the connection as authenticated and remove it from its address's share."""
        self.is_known = True
        self._limits.move(self, None)

    def release(self) -> None:
        """Free the slot after the connection has ended; harmless if repeated."""
        self._limits.release(self)


class ConnectionLimits:
    """Connection slots of one server. All methods must run on the event loop's thread.

    Args:
        open_files: limit of open files; this process's limit by default.
        now: monotonic clock, in seconds.

    Attributes:
        sweeps: number of sweeps so far.
    """

    def __init__(
        self,
        settings: ServingSettings,
        *,
        open_files: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.now = now
        self.sweeps = 0
        self.most = _most(settings.connections, open_files or file_limit())
        self.spare_most = min(_SPARE_MOST, self.most // _SPARE_PART)
        self._proxies = ProxyHeadersMiddleware(_nowhere, settings.trusted_proxies).trusted_hosts
        self._places: dict[ConnectionSlot, None] = {}
        self._strangers: dict[str, dict[ConnectionSlot, None]] = {}
        self._waiting: dict[ConnectionSlot, None] = {}
        self._spare: dict[ConnectionSlot, None] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        shortest = (settings.header_timeout_s, settings.body_timeout_s, settings.write_timeout_s)
        self._every_s = min(_PATIENCE_S / _SWEEPS, *(seconds / 2 for seconds in shortest))

    def open(self, holder: ConnectionHolder, peer: str | None) -> ConnectionSlot:
        """Return a slot for a new connection of `peer`; may close the longest-idle connection."""
        place = ConnectionSlot(self, holder, is_proxied=peer in self._proxies)
        self._places[place] = None
        self._waiting[place] = None
        share = None if peer is None or place.is_proxied else share_of(peer)
        if not (self.move(place, share) and self._has_room()):
            self._make_spare(place)
        if self._sweeping is None:
            self._sweep_later()
        return place

    def move(self, place: ConnectionSlot, address: str | None) -> bool:
        """Count a slot against the share of an address, or against none.

        Return False, with the slot in no share, if the share has been used up for a second and
        none of its connections is idle.
        """
        self._leave_share(place)
        if address is None or place not in self._places:
            return True
        share = self._strangers.setdefault(address, {})
        if self._is_used_up(share) and not self._make_room(share):
            return False
        self._strangers.setdefault(address, share)[place] = None
        place.address, place.since, place.joined = address, self.now(), self.sweeps
        return True

    def begin_request(self, place: ConnectionSlot, forwarded_for: Sequence[bytes]) -> bool:
        """Mark the slot as busy; return False if its client behind a proxy exceeds its share."""
        self._waiting.pop(place, None)
        if not place.is_proxied:
            return True
        place.is_known = False
        said = b", ".join(forwarded_for).decode("latin-1")
        client = self._proxies.get_trusted_client_address(said)[0] if said else ""
        return self.move(place, share_of(client) if client else None)

    def end_request(self, place: ConnectionSlot) -> None:
        """Mark the slot as waiting for its client."""
        if place.is_proxied:
            self._leave_share(place)
        if place in self._places:
            place.sweep = self.sweeps
            self._waiting[place] = None

    def release(self, place: ConnectionSlot) -> None:
        """Free a slot."""
        self._leave_share(place)
        for places in (self._places, self._waiting, self._spare):
            places.pop(place, None)

    def _is_used_up(self, share: dict[ConnectionSlot, None]) -> bool:
        """Return whether a share has been full for a second; short bursts are allowed."""
        last = next(islice(share, self.settings.connections_per_address - 1, None), None)
        # Not since its last request: one busy connection would permit any number of others.
        if last is None or self.sweeps - last.joined < _SWEEPS:
            return False
        return self.now() - last.since >= _PATIENCE_S

    def _has_room(self) -> bool:
        return len(self._places) <= self.most - self.spare_most or self._make_room(self._waiting)

    def _make_room(self, places: dict[ConnectionSlot, None]) -> bool:
        """Close the longest-idle connection; return False if none has been idle for a second."""
        now = self.now()
        for place in places:
            since = place.holder.is_waiting_since()
            if since is not None and now - since >= _PATIENCE_S and self._was_swept(place):
                place.release()
                place.holder.drop()
                return True
        return False

    def _was_swept(self, place: ConnectionSlot) -> bool:
        """Return whether a connection was checked for data since it started waiting."""
        return self.sweeps - place.sweep >= _SWEEPS

    def _make_spare(self, place: ConnectionSlot) -> None:
        self.release(place)
        place.is_spare = True
        self._spare[place] = None
        if len(self._spare) > self.spare_most:
            waiting = (place for place in self._spare if not place.holder.is_answering())
            oldest = next(waiting, next(iter(self._spare)))
            self.release(oldest)
            oldest.holder.drop()

    def _leave_share(self, place: ConnectionSlot) -> None:
        if place.address is None:
            return
        share = self._strangers.get(place.address, {})
        share.pop(place, None)
        if not share:
            self._strangers.pop(place.address, None)
        place.address = None

    def _trim(self, share: Mapping[ConnectionSlot, None], now: float) -> None:
        """Refuse the incomplete requests of an address that exceed its share."""
        held = [
            place
            for place in share
            if now - place.since >= _PATIENCE_S
            and self._was_swept(place)
            and place.holder.is_incomplete()
        ]
        for place in held[self.settings.connections_per_address :]:
            place.holder.refuse(overloaded(SHARE_FULL))

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_later(self._every_s, self.sweep)

    def sweep(self) -> None:
        """Enforce all timeouts; schedule the next sweep while any connection is open."""
        now = self.now()
        self.sweeps += 1
        for place in tuple(self._spare):
            is_late = now - place.since > _SPARE_S and self._was_swept(place)
            if is_late and not place.holder.is_answering():
                place.holder.drop()
        for place in (*self._places, *self._spare):
            place.holder.look_after(now)
        for share in tuple(self._strangers.values()):
            self._trim(share, now)
        self._sweeping = None
        if self._places or self._spare:
            self._sweep_later()


def overloaded(message: str, *, retry_after_ms: int = _RETRY_MS) -> TollgateError:
    """Return the response for connections without a free slot."""
    return Overloaded(message, retry_after_ms=retry_after_ms)


def sign_in(scope: Mapping[str, Any]) -> None:
    """Mark the connection of a request as authenticated."""
    place = scope.get("extensions", {}).get(EXTENSION)
    if isinstance(place, ConnectionSlot) and not place.is_known:
        place.sign_in()


def _most(wanted: int, open_files: int) -> int:
    """Return the number of slots: leave a quarter of the descriptors, at least 256, unused."""
    return max(_LEAST_PLACES, min(wanted, open_files - max(256, open_files // 4)))


def plain_address(text: str) -> str:
    """Return an address without its zone, and an IPv4-mapped IPv6 address as IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def share_of(peer: str) -> str:
    """Return the key of an address's share: itself, or its /64 network for IPv6."""
    plain = plain_address(peer)
    if ":" not in plain:
        return plain
    try:
        return str(ip_network((plain, _IPV6_NETWORK), strict=False))
    except ValueError:
        return plain


async def _nowhere(*_: Any) -> None:
    """Placeholder for the app that the proxy middleware would call."""
