"""One side of a proxied connection: first it collects, then it passes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from app.operations.egress.turns import PART, Turns

HIGH_WATER, LOW_WATER = 128 << 10, 32 << 10
_COLLECTED = 128 << 10

Filter = Callable[[bytes], bytes]


class Side(asyncio.Protocol):
    """Protocol of one side.

    Attributes:
        received: number of bytes that came from it.
        closed: done once the connection is lost.
        spend: called with each number of bytes; may close both sides.
    """

    def __init__(self, spend: Callable[[int], None]) -> None:
        loop = asyncio.get_running_loop()
        self.received = 0
        self.closed: asyncio.Future[None] = loop.create_future()
        self._spend = spend
        self._transport: asyncio.Transport | None = None
        self._collected = bytearray()
        self._more = asyncio.Event()
        self._at_end = False
        self._has_ended = False
        self._other: Side | None = None
        self._filter: Filter | None = None
        self._turns: Turns | None = None
        self._held = False  # the other side takes no more
        self._in_turn = False

    # The event loop's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        self._spend(len(data))
        if self._other is not None and self._filter is None:
            self._other.send(data)
            return
        self._collected += data
        if len(self._collected) > _COLLECTED and self._transport is not None:
            self._transport.pause_reading()
        self._more.set()
        self._arrange()

    def eof_received(self) -> bool:
        self._at_end = True
        self._more.set()
        if self._other is not None and not self._collected:
            self._other.end()
        return not self._has_ended  # the other direction may still be open

    def connection_lost(self, _error: Exception | None) -> None:
        self._at_end = True
        self._more.set()
        if not self.closed.done():
            self.closed.set_result(None)
        if self._other is not None:
            self._other.close()

    def pause_writing(self) -> None:
        if self._other is not None:
            self._other.pause()

    def resume_writing(self) -> None:
        if self._other is not None:
            self._other.resume()

    # The proxy's calls.

    @property
    def local_address(self) -> tuple[str, int]:
        """Return the address and port to which the program has connected."""
        assert self._transport is not None
        address, port, *_ = self._transport.get_extra_info("sockname")
        return str(address).removeprefix("::ffff:"), int(port)

    async def take(self) -> bytes:
        """Return what has been collected, at least one byte; empty at the end.

        Only before `join`.
        """
        while not self._collected and not self._at_end:
            self._more.clear()
            await self._more.wait()
        data = bytes(self._collected)
        self._collected.clear()
        self._read_on()
        return data

    def put_back(self, data: bytes) -> None:
        """Make `data` the next to be taken."""
        self._collected[:0] = data

    def join(self, other: Side, passed: Filter | None = None, turns: Turns | None = None) -> None:
        """Pass everything from now on to `other`.

        Args:
            passed: filter for it; a ValueError closes both sides.
            turns: when the filter may work; required with a filter.
        """
        self._filter, self._turns = passed, turns
        self._other = other
        if passed is None and self._collected:
            other.send(bytes(self._collected))
            self._collected.clear()
        self._read_on()
        if self.closed.done():
            other.close()
        elif self._at_end and not self._collected:
            other.end()

    def send(self, data: bytes) -> None:
        """Write to this side, unless it is closing."""
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def end(self) -> None:
        """Write nothing any more; what comes from it is still read, if anything may come."""
        self._has_ended = True
        transport = self._transport
        if self._at_end:
            self.close()
        elif transport is not None and not transport.is_closing() and transport.can_write_eof():
            transport.write_eof()

    def close(self) -> None:
        """Close it once everything is written."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        self._held = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        self._held = False
        self._read_on()

    def _read_on(self) -> None:
        if self._held:
            return
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._arrange()

    def _arrange(self) -> None:
        """Have the next part filtered when it is this sandbox's turn."""
        if self._turns is None or self._in_turn or self._held or not self._collected:
            return
        self._in_turn = True
        self._turns.add(self._filter_part)

    def _filter_part(self) -> None:
        assert self._other is not None
        assert self._filter is not None
        self._in_turn = False
        if self._held:
            return
        part = bytes(self._collected[:PART])
        del self._collected[:PART]
        try:
            self._other.send(self._filter(part))
        except ValueError:  # it is no longer what was checked
            self._collected.clear()
            self._other.abort()
            self.abort()
            return
        if self._collected:
            self._arrange()
            return
        self._read_on()
        if self._at_end:
            self._other.end()
