"""The one host that programs may reach by name, and who else may be reached through it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from app.core.host_rules import HostRules
from app.operations.egress.destinations import CheckedDestinations
from app.operations.egress.refusal import Destination
from app.operations.web.addresses import Network as AddressRange
from app.operations.web.addresses import Reach

if TYPE_CHECKING:
    from tests.escape.world import World

FRONT = "127.0.0.77"
OWN_PORT = 4444  # of the service, as far as the sandbox knows
ALLOWED = "allowed.example"
INSIDE = "inside.example"  # each of its names says its addresses
_RECORD, _HANDSHAKE = 5, 22


class Front:
    """Takes all that comes and waits; asked afterwards what has arrived."""

    def __init__(self) -> None:
        self._server = socket.create_server((FRONT, 0), backlog=200)
        self._server.setblocking(False)
        self._arrived: list[bytes] = []

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def received(self, mark: str) -> bool:
        """Whether somebody has sent `mark`, which stands for a host that is not allowed."""
        with suppress(BlockingIOError):
            while True:
                client, _ = self._server.accept()
                self._arrived.append(_all_of(client))
        return any(mark.encode() in part.lower() for part in self._arrived)

    def close(self) -> None:
        self._server.close()


class Answers:
    """An `AddressResolver`: `7f000001.inside.example` is 127.0.0.1, `a-b` has two addresses, and
    `flip-a-b` has another one each time.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        if host == ALLOWED:
            return [FRONT]
        label = host.removesuffix(f".{INSIDE}").rpartition(".")[2]
        parts = label.removeprefix("flip-").split("-")
        try:
            found = [_address(part) for part in parts]
        except ValueError:
            raise OSError("no such name") from None
        if label.startswith("flip-"):
            return [found[(self.asked.count(host) - 1) % len(found)]]
        return found

    def close(self) -> None:
        """Nothing is kept."""


class Places:
    """Where the proxy connects: what is checked as in the service leads to the front, and what
    should have been refused leads to a canary.
    """

    def __init__(self, allowed: tuple[AddressRange, ...]) -> None:
        self._answers = Answers()
        reach = Reach(allowed, lambda: frozenset({OWN_PORT}))
        self._checked = CheckedDestinations(self._answers, reach, "a setting")
        self.world: World | None = None

    async def of(self, host: str, port: int) -> Sequence[Destination]:
        assert self.world is not None
        before = len(self._answers.asked)
        try:
            found = await self._checked.of(host, port)
        finally:
            self.world.canaries.asked += self._answers.asked[before:]
        front = self.world.canaries.front.port
        canary = int(self.world.canaries.names()["TCP"])
        return [
            (FRONT, front)
            if (address, port) != (FRONT, OWN_PORT) and address == FRONT
            else ("127.0.0.1", canary)
            for address, port in found
        ]


def rules_for(world: World) -> HostRules:
    """What programs of a world may reach."""
    canary = world.canaries.names()["TCP"]
    return HostRules.of(
        (
            f"{ALLOWED}:80,443,5432,{OWN_PORT}",
            f"*.{INSIDE}:80,443,{OWN_PORT},{canary}",
            f"127.0.0.1:80,{canary}",
            "169.254.169.254:80",
        )
    )


def _address(part: str) -> str:
    data = bytes.fromhex(part)
    if len(data) not in (4, 16):
        raise ValueError(part)
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def _all_of(client: socket.socket) -> bytes:
    """What has arrived; of TLS, the message without the records that it is split into."""
    client.setblocking(False)
    found = b""
    with client, suppress(OSError):
        while part := client.recv(1 << 20):
            found += part
    joined, start = b"", 0
    while found[start : start + 1] == bytes((_HANDSHAKE,)):
        end = start + _RECORD + int.from_bytes(found[start + 3 : start + _RECORD])
        joined += found[start + _RECORD : end]
        start = end
    return found + joined
