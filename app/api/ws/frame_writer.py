"""Writer that sends many messages at the same time, bypassing ASGI.

With ASGI, each message is decoded to text, encoded again, framed by a state machine and written
separately. Server frames are not masked, so a frame is just a header and the existing bytes:
writing a whole outbox together takes a third of the CPU time (`python -m benchmarks ws_fanout`).
Without the extension, as in a test client, the connection falls back to ASGI.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import cast

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.api.connection_limits import EXTENSION as PLACE
from app.api.connection_limits import ConnectionSlot
from app.core.errors import TollgateError

EXTENSION = "tollgate.raw_text"
_FIN_TEXT = 0x81


def frame_header(size: int) -> bytes:
    """Return the header of an unmasked, unfragmented text frame of `size` bytes (RFC 6455)."""
    if size < 126:
        return bytes((_FIN_TEXT, size))
    if size < 1 << 16:
        return struct.pack("!BBH", _FIN_TEXT, 126, size)
    return struct.pack("!BBQ", _FIN_TEXT, 127, size)


class RawWriter:
    """Writes text frames to one accepted connection."""

    def __init__(self, protocol: FastWebSocketProtocol) -> None:
        self._protocol = protocol

    async def write(self, bodies: Sequence[bytes], timeout_s: float) -> None:
        """Send UTF-8 texts; wait while more than the transport's high-water mark is unsent.

        Raises:
            TimeoutError: the peer has not read for `timeout_s` seconds.
            ClientDisconnected: the connection is gone or closing.
        """
        protocol = self._protocol
        if not protocol.writable.is_set():
            async with asyncio.timeout(timeout_s):
                await protocol.writable.wait()
        if protocol.disconnected or protocol.close_sent or not protocol.handshake_complete:
            raise ClientDisconnected
        parts: list[bytes] = []
        for body in bodies:
            parts.append(frame_header(len(body)))
            parts.append(body)
        protocol.transport.write(b"".join(parts))


class FastWebSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, with its transport available to the application.

    Attributes:
        place: slot of the HTTP connection that was upgraded.
    """

    place: ConnectionSlot | None = None
    _closing_since: float | None = None

    async def run_asgi(self) -> None:
        extensions = cast("dict[str, object]", self.scope["extensions"])
        extensions |= {EXTENSION: RawWriter(self), PLACE: self.place}
        self.scope["client"] = self.client
        await super().run_asgi()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.place is not None:
            self.place.release()

    # -- holder of a slot; the application limits the connection ------------------------

    def is_waiting_since(self) -> float | None:
        return None

    def is_incomplete(self) -> bool:
        known = self.place is not None and self.place.is_known
        return not known and not self.transport.is_closing()

    def is_answering(self) -> bool:
        return False

    def refuse(self, _: TollgateError) -> None:
        self.transport.abort()

    def look_after(self, now: float) -> None:
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
            if now - self._closing_since > self.close_timeout:
                self.transport.abort()

    def drop(self) -> None:
        self.transport.abort()
