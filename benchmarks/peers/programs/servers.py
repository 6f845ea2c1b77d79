"""Servers of other frameworks, in the peers' interpreter, on the same web server as Tollgate's.

    servers.py NAME TEXT

Prints `{"url": …}`. Then each line of input is an order, `{"do": "cpu"}` or `{"do": "emit",
"count": n, "burst": n}`, and gets a line of output, `{"cpu": seconds so far}`. TEXT is what an
event says.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

Emit = Callable[[str], Awaitable[None]]


async def add(a: int, b: int, tags: list[str]) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b, "tags": len(tags)}


def _load(name: str) -> Any:
    return importlib.import_module(name)


async def nothing(_: str) -> None:
    """Send nothing: this server has no events."""


def mcp() -> tuple[Any, Emit]:
    """MCP SDK: streamable HTTP without sessions, answers in JSON."""
    server = _load("mcp.server.mcpserver").MCPServer("bench", log_level="ERROR")
    server.add_tool(add)
    return server.streamable_http_app(json_response=True, stateless_http=True), nothing


def fastmcp() -> tuple[Any, Emit]:
    """FastMCP: streamable HTTP without sessions, answers in JSON."""
    _load("fastmcp").settings.log_level = "ERROR"
    server = _load("fastmcp").FastMCP("bench")
    server.tool(add)
    return server.http_app(json_response=True, stateless_http=True), nothing


def socketio() -> tuple[Any, Emit]:
    """python-socketio: events for every client."""
    module = _load("socketio")
    server = module.AsyncServer(async_mode="asgi", ping_interval=3600)
    return module.ASGIApp(server), lambda text: server.emit("event", text)


SERVERS: dict[str, Callable[[], tuple[Any, Emit]]] = {
    build.__name__: build for build in (mcp, fastmcp, socketio)
}


async def obey(order: dict[str, Any], emit: Emit, text: str) -> None:
    """Carry out one order, and tell the CPU time."""
    if order["do"] == "emit":
        for number in range(1, order["count"] + 1):
            await emit(text)
            if number % order["burst"] == 0:
                await asyncio.sleep(0)
    say({"cpu": time.process_time()})


def listen(loop: asyncio.AbstractEventLoop, emit: Emit, text: str) -> None:
    """Pass each line of input to the loop; its end stops the server."""
    for line in sys.stdin:
        asyncio.run_coroutine_threadsafe(obey(json.loads(line), emit, text), loop)
    os.kill(os.getpid(), signal.SIGTERM)


def say(answer: dict[str, Any]) -> None:
    """Print one line for the measuring process."""
    print(json.dumps(answer), flush=True)


async def serve(name: str, text: str) -> None:
    """Serve on a free port until the input ends."""
    uvicorn = _load("uvicorn")
    app, emit = SERVERS[name]()
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
    )
    loop = asyncio.get_running_loop()
    threading.Thread(target=listen, args=(loop, emit, text), daemon=True).start()
    # The socket listens already: who connects now waits for the server.
    say({"url": f"http://127.0.0.1:{listener.getsockname()[1]}", "session_id": ""})
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    _load("uvloop").run(serve(*sys.argv[1:3]))
