"""The proxy process: serves the networks of all sandboxes of one service.

It has nothing of the service: no environment, no files, no descriptors but its control socket. It
decides only by the rules that it is given; where a host is reached, it asks the service. It ends
with the socket.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import uvloop

from app.core.host_rules import HostRules, parse_rule
from app.operations.egress.messages import MAX_BYTES, Message, decode, encode
from app.operations.egress.refusal import ConnectionRefused, Destination
from app.operations.egress.session import EgressSession

_MOST_WAITING = 100_000
_LATER_S = 0.02
_NOT_URGENT = ("closed", "refused")  # nothing depends on them until the session ends


class ProxyProcess:
    """All sessions of the process, and its control socket."""

    def __init__(self, control: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._sessions: dict[int, EgressSession] = {}
        self._questions: dict[int, asyncio.Future[list[Destination]]] = {}
        self._last_question = 0
        self._waiting: deque[bytes] = deque()
        self._is_full = False
        self._due: asyncio.TimerHandle | None = None
        self._over: asyncio.Future[None] = self._loop.create_future()
        control.setblocking(False)
        self._loop.add_reader(control.fileno(), self._readable)

    async def serve(self) -> None:
        """Serve until the service has closed the control socket."""
        await self._over
        self._loop.remove_reader(self._control.fileno())
        for session in list(self._sessions.values()):
            session.end()

    def _readable(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MAX_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        if not data:
            if not self._over.done():
                self._over.set_result(None)
            return
        message = decode(data)
        if message["type"] == "open":
            self._open(message, socket.socket(fileno=descriptors[0]))
        elif message["type"] == "verdict":
            self._answered(message)

    def _open(self, message: Message, control: socket.socket) -> None:
        number = int(message["session"])

        def report(event: Message) -> None:
            if event["type"] == "ended":
                self._sessions.pop(number, None)
            self._send({**event, "session": number})

        async def ask(host: str, port: int) -> Sequence[Destination]:
            return await self._ask(number, host, port)

        self._sessions[number] = EgressSession(
            control,
            HostRules(tuple(parse_rule(text) for text in message["hosts"])),
            int(message["proxy_port"]),
            ask=ask,
            report=report,
        )

    async def _ask(self, session: int, host: str, port: int) -> list[Destination]:
        self._last_question += 1
        question = self._last_question
        answered: asyncio.Future[list[Destination]] = self._loop.create_future()
        self._questions[question] = answered
        self._send(
            {
                "type": "question",
                "question": question,
                "session": session,
                "host": host,
                "port": port,
            }
        )
        try:
            destinations: list[Destination] = await answered
            return destinations
        finally:
            del self._questions[question]

    def _answered(self, message: Message) -> None:
        answered = self._questions.get(message["question"])
        if answered is None or answered.done():
            return  # the program has gone
        if "refused" in message:
            answered.set_exception(ConnectionRefused(message["code"], str(message["refused"])))
        else:
            answered.set_result([(str(a), int(port)) for a, port in message["destinations"]])

    def _send(self, message: Message) -> None:
        """Send in order; what the service has not read yet waits here, and what is not urgent
        waits for more, because each message wakes the service.
        """
        if len(self._waiting) >= _MOST_WAITING:
            raise MemoryError("the service does not read the proxy's messages")
        self._waiting.append(encode(message))
        if self._is_full:
            return
        if message["type"] not in _NOT_URGENT:
            self._flush()
        elif self._due is None:
            self._due = self._loop.call_later(_LATER_S, self._flush)

    def _flush(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        while self._waiting:
            try:
                self._control.send(self._waiting[0])
            except BlockingIOError:
                if not self._is_full:
                    self._loop.add_writer(self._control.fileno(), self._flush)
                    self._is_full = True
                return
            except OSError:  # the service has ended
                self._waiting.clear()
                break
            self._waiting.popleft()
        if self._is_full:
            self._loop.remove_writer(self._control.fileno())
            self._is_full = False


def main() -> None:
    """Serve the control socket whose descriptor is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # One sandbox needs up to 900 descriptors: the usual 1024 would let it shut the others out.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    async def serve() -> None:
        await ProxyProcess(control).serve()

    with suppress(KeyboardInterrupt):
        uvloop.run(serve())
