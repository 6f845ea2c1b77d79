"""A proxy that checks nothing: what a careless service would let programs reach hosts through."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.escape.front import ALLOWED, FRONT, OWN_PORT

if TYPE_CHECKING:
    from tests.escape.world import World

_HOST = re.compile(rb"\S+ (?:http://)?([^/ ]*)")
_PATIENCE_S = 60


class Relay:
    """Speaks CONNECT, plain HTTP and SOCKS5; every host but the front's is a canary's."""

    def __init__(self, world: World) -> None:
        self._front = (FRONT, world.canaries.front.port)
        self._canary = ("127.0.0.1", int(world.canaries.names()["TCP"]))
        self._server = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                client.settimeout(_PATIENCE_S)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, ValueError, IndexError):
            first = client.recv(1 << 16)
            if first[:1] == b"\x05":
                client.sendall(b"\x05\x00")
                host, port, rest = _socks_target(client.recv(1 << 16))
                client.sendall(b"\x05\x00\x00\x01" + bytes(6))
            else:
                found = _HOST.match(first)
                host, _, text = (found[1] if found else b"").rpartition(b":")
                port = int(text)
                connect = first.startswith(b"CONNECT ")
                rest = first.partition(b"\r\n\r\n")[2] if connect else first
                if connect:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            front = host == ALLOWED.encode() and port != OWN_PORT
            with socket.create_connection(self._front if front else self._canary) as server:
                server.sendall(rest)
                while data := client.recv(1 << 16):
                    server.sendall(data)


def _socks_target(request: bytes) -> tuple[bytes, int, bytes]:
    start = 5 if request[3] == 3 else 4
    end = start + (request[4] if request[3] == 3 else 4 if request[3] == 1 else 16)
    return request[start:end], int.from_bytes(request[end : end + 2]), request[end + 2 :]
