"""The service's side of the proxy: starts its process, answers it, and collects what it reports."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import app
from app.core.host_rules import HostRules
from app.operations.egress.destinations import HostDestinations
from app.operations.egress.messages import MAX_BYTES, Message, decode, encode
from app.operations.egress.refusal import ConnectionRefused
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.processes import NetworkConnection

PROXY_PORT = 3128
"""Port on which the proxy also speaks HTTP CONNECT and SOCKS5, inside the sandbox."""

_log = logging.getLogger(__name__)
_ROOT = str(Path(app.__file__).resolve().parents[1])
_PROGRAM = (
    "import sys; sys.path.insert(0, {root!r}); "
    "from app.operations.egress.process import main; main()"
)
_END_LIMIT_S = 5.0
_MOST_KEPT = 1_000


class NetworkLog(Protocol):
    """Record of one program's connections."""

    def opened(self, number: int, connection: NetworkConnection) -> None:
        """Store a connection that has begun; `number` is the proxy's."""

    def ended(self, number: int, connection: NetworkConnection) -> None:
        """Store its end."""

    def refused(self, connection: NetworkConnection) -> None:
        """Store a connection that was not made."""


class ConnectionLog(Protocol):
    """Record of all programs' connections."""

    def begin(self) -> NetworkLog:
        """Return the record of a program that the running call starts."""


class Unrecorded:
    """`ConnectionLog` and `NetworkLog` that store nothing."""

    def begin(self) -> NetworkLog:
        return self

    def opened(self, number: int, connection: NetworkConnection) -> None:
        pass

    def ended(self, number: int, connection: NetworkConnection) -> None:
        pass

    def refused(self, connection: NetworkConnection) -> None:
        pass


class EgressNetwork:
    """Network of one process tree, as the service sees it.

    Args:
        log: where its connections are stored.

    Attributes:
        dropped: connections that are not kept for the result, because there were too many.
    """

    def __init__(self, log: NetworkLog) -> None:
        self._log = log
        self._open: dict[int, NetworkConnection] = {}
        self._finished: list[NetworkConnection] = []
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.dropped = 0

    async def finished(self) -> tuple[NetworkConnection, ...]:
        """Return all connections, once the sandbox has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_LIMIT_S):
                await asyncio.shield(self._ended)
        return self.so_far()

    def so_far(self) -> tuple[NetworkConnection, ...]:
        """Return the connections up to now."""
        return (*self._finished, *self._open.values())

    def take(self, message: Message) -> None:
        """Handle a report of the proxy."""
        kind = message["type"]
        if kind == "opened":
            made = NetworkConnection(message["host"], message["port"], "open")
            self._open[message["connection"]] = made
            self._log.opened(message["connection"], made)
        elif kind == "closed":
            known = self._open[message["connection"]]
            self._end(
                message["connection"],
                replace(
                    known,
                    verdict="refused" if "code" in message else "allowed",
                    code=message.get("code"),
                    reason=message.get("reason"),
                    bytes_up=message["bytes_up"],
                    bytes_down=message["bytes_down"],
                    duration_s=message["duration_s"],
                ),
            )
        elif kind == "refused":
            code, reason = str(message["code"]), str(message["reason"])
            refused = NetworkConnection(message["host"], message["port"], "refused", code, reason)
            self._log.refused(refused)
            self._keep(refused)
        elif kind == "ended":
            self.dropped += int(message["unreported"])
            self.end()

    def end(self) -> None:
        """Handle the end of the sandbox or of the proxy: open connections are lost."""
        for number, known in list(self._open.items()):
            self._end(number, replace(known, verdict="lost"))
        if not self._ended.done():
            self._ended.set_result(None)

    def _end(self, number: int, connection: NetworkConnection) -> None:
        del self._open[number]
        self._log.ended(number, connection)
        self._keep(connection)

    def _keep(self, connection: NetworkConnection) -> None:
        if len(self._finished) < _MOST_KEPT:
            self._finished.append(connection)
        else:
            self.dropped += 1


class _ProxyAlive:
    """Started proxy process.

    Attributes:
        writable: set while the channel may take another message, and once it is closed.
    """

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self.process = process
        self.channel = channel
        self.sending = asyncio.Lock()
        self.writable = asyncio.Event()


class Egress:
    """Networks by host name for sandboxes; must be used on one event loop.

    The process is started with the first network, and again with the next one after it has died:
    then every network that it served is cut off.

    Attributes:
        log: where connections are stored; set before the first network is opened.
    """

    def __init__(self, destinations: HostDestinations) -> None:
        self.log: ConnectionLog = Unrecorded()
        self._destinations = destinations
        self._alive: _ProxyAlive | None = None
        self._networks: dict[int, EgressNetwork] = {}
        self._last = 0
        self._starting = asyncio.Lock()
        self._answering: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Return the number of the living process."""
        return None if self._alive is None else self._alive.process.pid

    async def open(self, hosts: HostRules) -> tuple[EgressNetwork, int]:
        """Return a network for one process tree, and the descriptor to send with its job, which
        the caller owns.

        Raises:
            ToolFailed: code `sandbox_unavailable`, if the proxy cannot be started.
        """
        async with self._starting:
            if self._alive is not None and self._alive.process.poll() is not None:
                self._lost(self._alive)
            alive = self._alive or await self._start()
            self._last += 1
            number = self._last
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            texts = [str(rule) for rule in hosts.rules]
            message = {
                "type": "open",
                "session": number,
                "hosts": texts,
                "proxy_port": PROXY_PORT,
            }
            try:
                await self._send(alive, message, [ours.fileno()])
            except OSError:
                theirs.close()
                self._lost(alive)
                raise sandbox_unavailable("The network proxy has ended; try again") from None
            finally:
                ours.close()
            network = self._networks[number] = EgressNetwork(self.log.begin())
            return network, theirs.detach()

    async def close(self) -> None:
        """End the process; networks are cut off."""
        self._closed = True
        alive = self._alive
        if alive is not None:
            self._lost(alive)
            await to_end(run_in(PROCESSES, _reap, alive.process))
        for task in self._answering:
            task.cancel()

    async def _start(self) -> _ProxyAlive:
        if self._closed:
            raise sandbox_unavailable("The network proxy is closed: the service is stopping")
        try:
            process, channel = await to_end(run_in(PROCESSES, _spawn))
        except OSError as error:
            raise sandbox_unavailable(f"Cannot start the network proxy: {error}") from None
        alive = self._alive = _ProxyAlive(process, channel)
        asyncio.get_running_loop().add_reader(channel.fileno(), self._readable, alive)
        return alive

    async def _send(self, alive: _ProxyAlive, message: Message, descriptors: list[int]) -> None:
        data = encode(message)
        async with alive.sending:
            while True:
                try:
                    socket.send_fds(alive.channel, [data], descriptors)
                except BlockingIOError:
                    await _until_writable(alive)
                else:
                    return

    def _readable(self, alive: _ProxyAlive) -> None:
        for _ in range(100):
            try:
                data = alive.channel.recv(MAX_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lost(alive)
                return
            try:
                self._take(alive, decode(data))
            except (ValueError, KeyError, TypeError):  # the proxy reads what programs send
                _log.exception("the network proxy sent an invalid message")
                self._lost(alive)
                return

    def _take(self, alive: _ProxyAlive, message: Message) -> None:
        if message["type"] == "question":
            task = asyncio.ensure_future(self._answer(alive, message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            return
        network = self._networks.get(message["session"])
        if network is not None:
            network.take(message)
            if message["type"] == "ended":
                del self._networks[message["session"]]

    async def _answer(self, alive: _ProxyAlive, message: Message) -> None:
        verdict: Message = {"type": "verdict", "question": message["question"]}
        try:
            found = await self._destinations.of(message["host"], message["port"])
            verdict["destinations"] = [list(destination) for destination in found]
        except ConnectionRefused as why:
            verdict |= {"refused": why.reason, "code": why.code}
        with suppress(OSError):
            await self._send(alive, verdict, [])

    def _lost(self, alive: _ProxyAlive) -> None:
        """Forget a process that has ended, and end what it served."""
        if self._alive is not alive:
            return
        self._alive = None
        loop = asyncio.get_running_loop()
        loop.remove_reader(alive.channel.fileno())
        loop.remove_writer(alive.channel.fileno())
        alive.channel.close()
        alive.writable.set()
        networks, self._networks = self._networks, {}
        for network in networks.values():
            network.end()
        if not self._closed:
            _log.warning("the network proxy ended; the next command starts it again")
            PROCESSES.submit(_reap, alive.process)


async def _until_writable(alive: _ProxyAlive) -> None:
    """Return once the channel may take another message, or is closed."""
    loop = asyncio.get_running_loop()
    alive.writable.clear()
    loop.add_writer(alive.channel.fileno(), alive.writable.set)
    try:
        await alive.writable.wait()
    finally:
        if alive.channel.fileno() >= 0:
            loop.remove_writer(alive.channel.fileno())


def _spawn() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the process; blocks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        ours.setblocking(False)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
            [sys.executable, "-I", "-c", _PROGRAM.format(root=_ROOT), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": os.environ.get("TZ") or "UTC"},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end, and kill it if necessary; blocks."""
    try:
        process.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
