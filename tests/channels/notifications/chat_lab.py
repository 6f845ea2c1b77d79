"""Servers of others on loopback, and a service's side of answers in chats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from app.channels.notifications.chat_answers import ChatKind, ChatLinks
from app.channels.notifications.listener import Backoff
from app.channels.notifications.transport import Notification, NotificationAction
from app.config.web import WebSettings
from app.core.clock import ManualClock, isoformat
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditLog
from app.operations.web.client import Web
from tests.support.database import new_database

PATIENCE_S = 60
FAST = Backoff(first_s=0.001, longest_s=0.01)


@dataclass(frozen=True)
class Arrived:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """A response; without `sent`, the connection ends before it."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: bool = True

    @classmethod
    def json(cls, value: Any, status: int = 200, **options: Any) -> Reply:
        return cls(status, orjson.dumps(value), **options)


async def until(happens: Callable[[], bool]) -> None:
    """Wait until something is the case, which happens in another task."""
    async with asyncio.timeout(PATIENCE_S):
        while not happens():  # noqa: ASYNC110 - what happens has no event
            await asyncio.sleep(0)


class ScriptedService:
    """HTTP server that answers with what `handle` returns."""

    def __init__(self, handle: Callable[[Arrived], Awaitable[Reply]]) -> None:
        self.port = 0
        self.arrived: list[Arrived] = []
        self._handle = handle

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            pairs = [line.split(": ", 1) for line in head[1:] if line]
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            arrived = Arrived(method, target, headers, body)
            self.arrived.append(arrived)
            reply = await self._handle(arrived)
            if reply.sent:
                fields = {
                    **reply.headers,
                    "Content-Length": str(len(reply.body)),
                    "Connection": "close",
                }
                lines = [f"{name}: {value}" for name, value in fields.items()]
                start = f"HTTP/1.1 {reply.status} Scripted"
                writer.write("\r\n".join([start, *lines, "", ""]).encode() + reply.body)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def running(service: ScriptedService) -> AsyncIterator[ScriptedService]:
    """Serve on a free port of loopback."""
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        server.close()


class ScriptedAnswers:
    """`ChatAnswers` over real links, with capabilities that are given by a test.

    Attributes:
        capabilities: user, end and outcome by ID.
        given: outcomes that have taken effect.
    """

    def __init__(self, links: ChatLinks, clock: ManualClock) -> None:
        self.links = links
        self.clock = clock
        self.capabilities: dict[str, tuple[str, str, str]] = {}
        self.given: list[str] = []
        self.fails = False

    def issue(self, capability: str, user_id: str, outcome: str) -> None:
        end = isoformat(self.clock.now() + timedelta(minutes=5))
        self.capabilities[capability] = (user_id, end, outcome)

    async def answer(self, kind: ChatKind, sender: str, capability: str) -> str:
        if self.fails:
            raise RuntimeError("secret-in-an-error")
        link = await self.links.find(kind, sender)
        if link is None:
            return "Link this account first"
        found = self.capabilities.get(capability)
        if found is None or found[0] != link.user_id:
            return "Unknown button"
        if found[1] <= isoformat(self.clock.now()):
            return "Too late"
        del self.capabilities[capability]
        self.given.append(found[2])
        return f"Done: {found[2]}"

    async def link(self, kind: ChatKind, sender: str, code: str) -> str:
        made = await self.links.redeem(kind, sender, code)
        return "This code is not valid" if made is None else f"Linked to {made.user_id}"


@asynccontextmanager
async def answering(folder: Path) -> AsyncIterator[ScriptedAnswers]:
    """Answers over a new database."""
    path = folder / "data" / "tollgate.db"
    new_database(path)
    clock = ManualClock()
    db = SqliteWriter(path)
    await db.start()
    try:
        links = ChatLinks(db, clock, AuditLog(db, clock, Redactor()))
        yield ScriptedAnswers(links, clock)
    finally:
        await db.close()


@asynccontextmanager
async def web_access() -> AsyncIterator[Web]:
    """The web as it ships: only trusted origins may be on loopback."""
    web = Web(WebSettings(), ManualClock())
    try:
        yield web
    finally:
        await web.aclose()


@asynccontextmanager
async def listening(run: Awaitable[None]) -> AsyncIterator[None]:
    """Run a listener; it must still run at the end."""
    task = asyncio.ensure_future(run)
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


ACTIONS = (
    NotificationAction("Approve once", "allow", "a" * 43),
    NotificationAction("Decline", "deny", "d" * 43),
)


def message(**changes: Any) -> Notification:
    """A message about a pending confirmation."""
    usual: dict[str, Any] = {
        "id": "ntf_1",
        "event": "opened",
        "kind": "confirmation",
        "item_id": "cfm_1",
        "subject": "Approval needed: bash: rm -rf <build> & *more*",
        "body": "Agent: coder\nTool: bash",
        "link": "https://tollgate.example.org/approvals/cfm_1",
        "risk": "medium",
        "expires_at": "2026-01-01T00:05:00.000Z",
        "outcome": None,
    }
    return Notification(**usual | changes)
