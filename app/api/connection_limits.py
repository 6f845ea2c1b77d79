"""Limits on open connections, and the choice of which one to close first.

A file limit is reached sooner than any other, and past it nothing can be accepted. So there are
fewer places than descriptors. Whoever has not signed in shares those of their address. Where no
place is left, the connection that has waited longest for a request of its client makes room;
where all are busy, the new one gets a spare place: it is answered once, about health only or
with a refusal that says when to come again. A spare place never waits for its client: the oldest
of those that do is closed when another one is needed.

A busy service reads late. So a connection has waited only when the service has looked for its
data meanwhile, which two sweeps show.
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
# A sweep can come between the accept of a connection and the first look for its data; the next
# one cannot.
_SWEEPS = 2
_RETRY_MS = 2000
_SPARE_PART = 3
_SPARE_MOST = 256
_LEAST_PLACES = 8
_IPV6_NETWORK = 64


class ConnectionHolder(Protocol):
    """What holds a place: the protocol of one connection."""

    def is_waiting_since(self) -> float | None:
        """Since when it waits for a request of its client; None while one is under way."""

    def is_incomplete(self) -> bool:
        """Return whether the client still has to send the rest of a body, or a `hello`."""

    def is_answering(self) -> bool:
        """Whether its request is complete, and the service has not answered yet."""

    def refuse(self, error: TollgateError) -> None:
        """Answer in place of the application, where that is possible, and close."""

    def look_after(self, now: float) -> None:
        """End what has taken too long."""

    def drop(self) -> None:
        """Close the connection, and say nothing."""


class ConnectionSlot:
    """The place of one connection.

    Attributes:
        address: whose share it is part of; None for a proxy that is trusted, and for whoever has
            signed in.
        is_proxied: a proxy that is trusted has it, for one client after another.
        is_spare: it is answered once.
        since: when it was opened, or became part of its share.
        joined: the number of the sweep before that.
        sweep: the number of the sweep before it began to wait for its client.
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
        """Whoever connects has shown who they are."""
        self.is_known = True
        self._limits.move(self, None)

    def release(self) -> None:
        """The connection has ended; harmless when repeated."""
        self._limits.release(self)


class ConnectionLimits:
    """The places of one server. All methods are called on the event loop's thread.

    Args:
        open_files: the limit of open files; the service's own by default.
        now: the clock, in seconds.

    Attributes:
        sweeps: how often the connections were looked after.
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
        """A place for a new connection of `peer`; the oldest one that waits may be closed."""
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
        """Count a place as part of an address's share, or of none.

        False when that address has had all it may have for a moment, and none of them waits for
        its client: the place is part of no share then.
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
        """A request is under way; False when its client, behind a proxy, has too many of them."""
        self._waiting.pop(place, None)
        if not place.is_proxied:
            return True
        place.is_known = False
        said = b", ".join(forwarded_for).decode("latin-1")
        client = self._proxies.get_trusted_client_address(said)[0] if said else ""
        return self.move(place, share_of(client) if client else None)

    def end_request(self, place: ConnectionSlot) -> None:
        """A connection waits for its client from now on."""
        if place.is_proxied:
            self._leave_share(place)
        if place in self._places:
            place.sweep = self.sweeps
            self._waiting[place] = None

    def release(self, place: ConnectionSlot) -> None:
        """Give a place back."""
        self._leave_share(place)
        for places in (self._places, self._waiting, self._spare):
            places.pop(place, None)

    def _is_used_up(self, share: dict[ConnectionSlot, None]) -> bool:
        """Whether as many as may be have not signed in for a moment; a crowd comes at once."""
        last = next(islice(share, self.settings.connections_per_address - 1, None), None)
        # Not since its last request: whoever keeps one connection busy would open any number.
        if last is None or self.sweeps - last.joined < _SWEEPS:
            return False
        return self.now() - last.since >= _PATIENCE_S

    def _has_room(self) -> bool:
        return len(self._places) <= self.most - self.spare_most or self._make_room(self._waiting)

    def _make_room(self, places: dict[ConnectionSlot, None]) -> bool:
        """Close the one that has waited longest; False when none has waited for a moment."""
        now = self.now()
        for place in places:
            since = place.holder.is_waiting_since()
            if since is not None and now - since >= _PATIENCE_S and self._was_swept(place):
                place.release()
                place.holder.drop()
                return True
        return False

    def _was_swept(self, place: ConnectionSlot) -> bool:
        """Whether the service has looked for data of a connection since it began to wait."""
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
        """Refuse those of a crowd that are more than its share, cannot make room and do not end."""
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
        """End what has taken too long, and come back while any connection is open."""
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
    """Note that whoever sent a request has shown who they are."""
    place = scope.get("extensions", {}).get(EXTENSION)
    if isinstance(place, ConnectionSlot) and not place.is_known:
        place.sign_in()


def _most(wanted: int, open_files: int) -> int:
    """As many as leave a quarter of the descriptors, and 256 at least, for the work itself."""
    return max(_LEAST_PLACES, min(wanted, open_files - max(256, open_files // 4)))


def plain_address(text: str) -> str:
    """An address of version 4 that came over a socket of version 6 as what it is."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def share_of(peer: str) -> str:
    """Whom an address stands for: itself, or its network of version 6, which one customer gets."""
    plain = plain_address(peer)
    if ":" not in plain:
        return plain
    try:
        return str(ip_network((plain, _IPV6_NETWORK), strict=False))
    except ValueError:
        return plain


async def _nowhere(*_: Any) -> None:
    """Placeholder for the app that the proxy middleware would call."""
