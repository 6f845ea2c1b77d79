"""Application served in a separate process, controlled through its standard input.

    python -m benchmarks.child tollgate|floor FOLDER

The first line it prints is `{"url": …, "session_id": …}`. Then each line of input is one
order, `{"do": "cpu"}` or `{"do": "emit", "live": bool, "count": n, "burst": n}`, and gets
one line of output, `{"cpu": seconds of this process so far}`. Closing its input ends it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter
from starlette.websockets import WebSocket, WebSocketDisconnect

from app.api.app import create_app
from app.api.lazy_routes import LazyRoutes
from app.api.server import run_server
from app.api.service import Service
from app.api.ws.connections import Connections
from app.bootstrap.service import open_service
from app.core.text import dump_json
from app.events.log import SessionLog
from benchmarks import sample_tools as samples
from benchmarks.bare import bare_app, say
from benchmarks.runtime import bench_settings

Order = dict[str, Any]
Emit = Callable[[Order], Awaitable[None]]
TEXT = "so that all of it comes to a good two hundred bytes"
# Format of `text_delta` with IDs of realistic length; the floor sends nothing else.
BODY = (
    '{"v":1,"type":"text_delta","ts":"2026-01-01T00:00:00.000Z","session_id":"ses_'
    f'{"0" * 24}","epoch":"ep_{"0" * 24}","after_seq":0,"message_id":"msg_1",'
    f'"chunk_from":0,"chunk_to":1,"text":"{TEXT}"}}'
)
_call = TypeAdapter(samples.AddArgs).validate_json


class DirectCall(BaseModel):
    """Body of the floor of a call by REST."""

    arguments: samples.AddArgs


class DirectResult(BaseModel):
    """Response of the floor of a call by REST."""

    name: str
    result: Any


def floor(listening: set[WebSocket]) -> FastAPI:
    """Return the bare application, run by our server; its calls validate and answer."""
    app = bare_app(listening)
    app.state.connections = Connections()
    app.state.feeds = set()
    app.state.later = LazyRoutes(app.router, lambda: tuple(app.routes))

    @app.websocket("/call")
    async def call(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                args = _call(await socket.receive_text(), strict=True)
                await socket.send_json(await samples.plain_add(args))
        except WebSocketDisconnect:
            return

    @app.post("/tools/{name}/call")
    async def call_tool(name: str, body: DirectCall) -> DirectResult:
        return DirectResult(name=name, result=await samples.plain_add(body.arguments))

    return app


async def emit_events(log: SessionLog, order: Order) -> None:
    """Send events of a session like runs do; the loop turns after each burst."""
    fields: dict[str, Any] = {"message_id": "msg_1", "chunk_from": 0, "chunk_to": 1, "text": TEXT}
    encoded = dump_json(fields)[1:].decode()
    for number in range(1, order["count"] + 1):
        if order["live"]:
            log.send("text_delta", fields)
        else:
            log.append("text_delta", encoded)
        if number % order["burst"] == 0:
            await asyncio.sleep(0)


async def emit_texts(listening: set[WebSocket], order: Order) -> None:
    """Send a prepared text to every socket."""
    for number in range(1, order["count"] + 1):
        for socket in tuple(listening):
            await socket.send_text(BODY)
        if number % order["burst"] == 0:
            await asyncio.sleep(0)


async def _obey(order: Order, emit: Emit) -> None:
    if order["do"] == "emit":
        await emit(order)
    say({"cpu": time.process_time()})


def _listen(loop: asyncio.AbstractEventLoop, emit: Emit) -> None:
    for line in sys.stdin:
        asyncio.run_coroutine_threadsafe(_obey(json.loads(line), emit), loop)
    os.kill(os.getpid(), signal.SIGTERM)


def serve(kind: str, folder: Path) -> None:
    """Serve until the input is closed."""
    settings = bench_settings(
        folder,
        command_rate=1e9,
        command_burst=10**9,
        max_connections=10_000,
        outbox_frames=1_000_000,
        outbox_bytes=1 << 30,
        heartbeat_s=3600,
    )
    listening: set[WebSocket] = set()
    is_floor = kind == "floor"
    app = floor(listening) if is_floor else create_app(settings, partial(open_service, settings))

    def ready(url: str) -> None:
        emit: Emit
        session_id, emit = "", partial(emit_texts, listening)
        if not is_floor:
            session_id, emit = _open_session(app)
        loop = asyncio.get_running_loop()
        threading.Thread(target=_listen, args=(loop, emit), daemon=True).start()
        say({"url": url, "session_id": session_id})

    run_server(settings, app, ready)


def _open_session(app: FastAPI) -> tuple[str, Emit]:
    service: Service = app.state.service
    service.registry.register(samples.add)
    log = service.sessions.create(user_id="local", project_id="default").log
    return log.session_id, partial(emit_events, log)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
