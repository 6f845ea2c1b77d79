"""Servers that nobody inside may reach. They only wait: what came is asked afterwards."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from pathlib import Path

from tests.escape.front import Front

_LOWEST_PORT, _HIGHEST_PORT = 10_000, 65_535
_PORT_TRIES = 1_000


class Canaries:
    """Sockets of every kind on this machine.

    Attributes:
        front: the host that may be reached, if nothing in what it is sent stands for another one.
        asked: names of hosts that were asked for outside.
        mark: stands for a host that may not be reached.
    """

    def __init__(self, folder: Path, token: str) -> None:
        self.front = Front()
        self.asked: list[str] = []
        self.mark = f"forbidden{token}"
        self._ports = Ports()
        self._streams = {
            "tcp": _listening(socket.AF_INET, ("127.0.0.1", self._ports.take())),
            "tcp6": _listening(socket.AF_INET6, ("::1", self._ports.take())),
            "unix": _listening(socket.AF_UNIX, str(folder / "canary.sock")),
            "abstract": _listening(socket.AF_UNIX, f"\0esc{token}"),
        }
        self._datagrams = {
            "udp": _datagrams(socket.AF_INET, ("127.0.0.1", self._ports.take())),
            "unix datagrams": _datagrams(socket.AF_UNIX, str(folder / "canary.dgram")),
            "abstract datagrams": _datagrams(socket.AF_UNIX, f"\0dgram{token}"),
        }
        tcp_fast_open = 23
        with suppress(OSError):
            self._streams["tcp"].setsockopt(socket.IPPROTO_TCP, tcp_fast_open, 5)
        self._folder = folder
        self._token = token
        self._free = self._ports.take()

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
            "MARK": self.mark,
        }

    def reached(self) -> list[str]:
        """Which of them somebody has reached."""
        found = [name for name, server in self._streams.items() if _accepts(server)]
        found += [name for name, server in self._datagrams.items() if _receives(server)]
        found += ["the front as another host"] if self.front.received(self.mark) else []
        return found + [f"the name {name}" for name in self.asked if self.mark in name]

    def listened(self) -> bool:
        """Whether something answers on the port that was free."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._free), timeout=1):
            return True
        return False

    def close(self) -> None:
        for server in (*self._streams.values(), *self._datagrams.values()):
            server.close()
        self._ports.close()
        self.front.close()


class Ports:
    """Ports that nobody else comes upon: neither who asks the kernel for any, nor another driver.

    A port the kernel gave out and took back is soon somebody else's, whose server would look
    like the run's, and whose clients would look like it too.
    """

    def __init__(self) -> None:
        self._claims: list[socket.socket] = []

    def take(self) -> int:
        """One that nothing listens on; nobody else gets it before `close`.

        Raises:
            OSError: there is none.
        """
        given = _given_to_anybody()
        if given.start <= _LOWEST_PORT and given.stop > _HIGHEST_PORT:
            given = range(0)  # no other is left
        for _ in range(_PORT_TRIES):
            port = _LOWEST_PORT + secrets.randbelow(_HIGHEST_PORT - _LOWEST_PORT)
            if port not in given and _is_unused(port) and self._claim(port):
                return port
        raise OSError("no port is free that the kernel gives to nobody")

    def close(self) -> None:
        while self._claims:
            self._claims.pop().close()

    def _claim(self, port: int) -> bool:
        """By a name that only one process of the machine can have, and that ends with it."""
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0escape-port-{port}")
        except OSError:
            claim.close()
            return False
        self._claims.append(claim)
        return True


def _given_to_anybody() -> range:
    first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    return range(int(first), int(last) + 1)


def _is_unused(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET6, kind) as server:  # of both families
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            try:
                server.bind(("::", port))
            except OSError:
                return False
    return True


def _listening(family: socket.AddressFamily, address: object) -> socket.socket:
    server = socket.socket(family)
    try:
        server.bind(address)  # type: ignore[arg-type]
    except OSError:
        server.close()
        raise
    server.listen(16)
    server.setblocking(False)
    return server


def _datagrams(family: socket.AddressFamily, address: object) -> socket.socket:
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind(address)  # type: ignore[arg-type]
    server.setblocking(False)
    return server


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
