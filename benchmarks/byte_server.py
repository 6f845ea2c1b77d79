"""Server that sends as many bytes as it is asked for: 8 bytes of each request are their number.

    python -m benchmarks.byte_server

It prints its port, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from typing import cast

import uvloop

HOST = "127.0.0.1"
REQUEST = struct.Struct(">Q")
_PIECE = bytes(1 << 20)
_HIGH_WATER = 4 << 20


class _Sending(asyncio.Protocol):
    """One client; a request is never split in practice, because it is smaller than a segment."""

    def __init__(self) -> None:
        self._left = 0
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._transport.set_write_buffer_limits(_HIGH_WATER)

    def data_received(self, data: bytes) -> None:
        self._left += sum(wanted for (wanted,) in REQUEST.iter_unpack(data))
        self._send()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._send()

    def _send(self) -> None:
        while self._left and not self._paused:
            piece = _PIECE[: self._left]
            self._left -= len(piece)
            self._transport.write(piece)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Sending, HOST, 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(_serve())
