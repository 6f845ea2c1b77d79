"""Bare FastAPI application, with a server without our code.

    python -m benchmarks.bare

Nothing of `app` is imported here: its start and its memory are those of the web stack.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.websockets import WebSocket, WebSocketDisconnect


def bare_app(listening: set[WebSocket]) -> FastAPI:
    """Return an app: `/echo` returns its input; connections to `/stream` join `listening`."""
    app = FastAPI(openapi_url=None)

    @app.get("/api/v1/health")
    @app.get("/api/v1/ready")
    async def ready() -> dict[str, str]:
        return {"status": "ready"}

    @app.websocket("/echo")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            return

    @app.websocket("/stream")
    async def stream(socket: WebSocket) -> None:
        await socket.accept()
        listening.add(socket)
        try:
            await socket.receive_text()
        except WebSocketDisconnect:
            listening.discard(socket)

    return app


def say(message: dict[str, Any]) -> None:
    """Print one line of JSON for the parent process."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def serve() -> None:
    """Serve on a free port until a stop signal, like the service."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        bare_app(set()),
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
    )
    say({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"})
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    serve()
