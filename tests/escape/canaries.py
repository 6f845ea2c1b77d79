"""Servers that nobody inside may reach. They only wait: what came is asked afterwards."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path


class Canaries:
    """Sockets of every kind on this machine."""

    def __init__(self, folder: Path, token: str) -> None:
        self._streams = {
            "tcp": _listening(socket.AF_INET, ("127.0.0.1", 0)),
            "tcp6": _listening(socket.AF_INET6, ("::1", 0)),
            "unix": _listening(socket.AF_UNIX, str(folder / "canary.sock")),
            "abstract": _listening(socket.AF_UNIX, f"\0esc{token}"),
        }
        self._datagrams = {
            "udp": _datagrams(socket.AF_INET, ("127.0.0.1", 0)),
            "unix datagrams": _datagrams(socket.AF_UNIX, str(folder / "canary.dgram")),
            "abstract datagrams": _datagrams(socket.AF_UNIX, f"\0dgram{token}"),
        }
        tcp_fast_open = 23
        with suppress(OSError):
            self._streams["tcp"].setsockopt(socket.IPPROTO_TCP, tcp_fast_open, 5)
        self._folder = folder
        self._token = token
        self._free = _free_port()

    def names(self) -> dict[str, str | int]:
        """Their addresses; `LISTEN` is a port that a run may try to listen on itself."""
        return {
            "TCP": self._streams["tcp"].getsockname()[1],
            "TCP6": self._streams["tcp6"].getsockname()[1],
            "UDP": self._datagrams["udp"].getsockname()[1],
            "UNIX": str(self._folder / "canary.sock"),
            "UNIX_DGRAM": str(self._folder / "canary.dgram"),
            "ABSTRACT": f"esc{self._token}",
            "ABSTRACT_DGRAM": f"dgram{self._token}",
            "LISTEN": self._free,
        }

    def reached(self) -> list[str]:
        """Which of them somebody has reached."""
        return [name for name, server in self._streams.items() if _accepts(server)] + [
            name for name, server in self._datagrams.items() if _receives(server)
        ]

    def listened(self) -> bool:
        """Whether something answers on the port that was free."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._free), timeout=1):
            return True
        return False

    def close(self) -> None:
        for server in (*self._streams.values(), *self._datagrams.values()):
            server.close()


def _listening(family: socket.AddressFamily, address: object) -> socket.socket:
    server = socket.socket(family)
    server.bind(address)  # type: ignore[arg-type]
    server.listen(16)
    server.setblocking(False)
    return server


def _datagrams(family: socket.AddressFamily, address: object) -> socket.socket:
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind(address)  # type: ignore[arg-type]
    server.setblocking(False)
    return server


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def _accepts(server: socket.socket) -> bool:
    with suppress(BlockingIOError):
        server.accept()[0].close()
        return True
    return False


def _receives(server: socket.socket) -> bool:
    with suppress(BlockingIOError):
        server.recv(64)
        return True
    return False
