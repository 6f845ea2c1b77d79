"""Real service on a free port, with a real WebSocket client."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import websockets
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection

from app.agents.models.protocol import ModelClient
from app.agents.sessions import Session
from app.api.server import listening_socket, make_server, url_of
from app.bootstrap.service import ComposedService
from app.config.sections import SandboxSettings
from app.config.settings import Settings, load_settings
from app.core.ids import new_id
from app.main import application
from tests.support.database import new_database

Message = dict[str, Any]
PATIENCE_S = 60


def settings_for(folder: Path, **overrides: Any) -> Settings:
    """Return settings of a service with all data in `folder`, without authentication.

    Creates an empty database with the newest schema.
    """
    usual = {
        "data_dir": folder,
        "port": 0,
        "allow_anonymous": True,
        # Most tests start no program: the sandbox starts on demand.
        "sandbox": SandboxSettings(warm_workers=0),
        "_env_file": None,
    }
    settings = load_settings(**usual | overrides)
    if settings.data_dir.is_dir() and not settings.database_path.exists():
        new_database(settings.database_path)
    return settings


@dataclass(slots=True)
class Running:
    """A served service."""

    app: FastAPI
    url: str

    @property
    def service(self) -> ComposedService:
        """Return the served service."""
        service: ComposedService = self.app.state.service
        return service

    @property
    def api(self) -> str:
        """Return the base address of REST."""
        return f"{self.url}/api/v1"

    def session(self, **fields: Any) -> Session:
        """Create a session in the default project."""
        wanted = {"user_id": "local", "project_id": "default"} | fields
        return self.service.sessions.create(**wanted)

    @asynccontextmanager
    async def connect(self, *, hello: Message | None = None, **options: Any) -> AsyncIterator[Chat]:
        """Connect a greeted client."""
        async with self.socket(**options) as socket:
            chat = Chat(socket)
            await chat.send({"type": "hello", "id": "hello", **(hello or {})})
            await chat.until("ack")
            yield chat

    @asynccontextmanager
    async def socket(self, **options: Any) -> AsyncIterator[ClientConnection]:
        """Connect without sending anything."""
        wanted = {"subprotocols": ["tollgate.v1"], "max_size": None, "max_queue": None} | options
        url = self.url.replace("http", "ws", 1) + "/api/v1/ws"
        async with websockets.connect(url, **wanted) as socket:
            yield socket


class Chat:
    """Client that stores everything it has received."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.seen: list[Message] = []
        self._unread: deque[Message] = deque()

    async def send(self, message: Message) -> None:
        await self.socket.send(json.dumps(message))

    async def receive(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            message: Message = json.loads(await self.socket.recv())
        self.seen.append(message)
        return message

    async def until(self, kind: str, when: Callable[[Message], bool] = lambda _: True) -> Message:
        """Return the next message of a kind (for which `when` is true); earlier ones are stored."""
        while True:
            message = await self.next()
            if message["type"] == kind and when(message):
                return message

    async def next(self) -> Message:
        """Return the next unread message."""
        return self._unread.popleft() if self._unread else await self.receive()

    async def command(self, **fields: Any) -> Message:
        """Send a command; return its `ack`, `subscribed` or `error`."""
        command = {"v": 1, "id": new_id("cmd"), **fields}
        await self.send(command)
        return await self.answer_to(command["id"])

    async def answer_to(self, command_id: str) -> Message:
        while True:
            message = await self.receive()
            if message.get("ref") == command_id:
                return message
            # An event may arrive before the answer; it must stay unread.
            self._unread.append(message)

    def events(self, *kinds: str) -> list[Message]:
        """Return session events received so far, of these kinds."""
        return [m for m in self.seen if "session_id" in m and (not kinds or m["type"] in kinds)]

    def durable(self) -> list[Message]:
        return [m for m in self.seen if "seq" in m]


@asynccontextmanager
async def serving(
    settings: Settings,
    *,
    model: ModelClient | None = None,
    app: FastAPI | None = None,
    on_leave: Callable[[], None] = lambda: None,
) -> AsyncIterator[Running]:
    """Serve on a free port until the block ends; `app` is created unless given."""
    app = app or application(settings, model=model)
    listener = listening_socket(settings)
    ready = asyncio.Event()
    server = make_server(settings, app, lambda _: ready.set(), on_leave)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        if serving.done():
            raise AssertionError("the server did not start")
        yield Running(app, url_of(listener))
    finally:
        server.should_exit = True
        await serving
        listener.close()
