"""Calls and events over the network, Tollgate's beside those of other servers.

All servers use the same web server with the same settings and report their own CPU time.
"""

from __future__ import annotations

import json
from functools import partial

from benchmarks.child import BODY
from benchmarks.harness import Benchmark, Compared, Figures, Result, Scale, interleave, run
from benchmarks.peers.environment import serving_peer
from benchmarks.rest import CONNECTIONS, Post, compare_calls
from benchmarks.sample_tools import add_arguments
from benchmarks.served import Served, serving
from benchmarks.websocket import BURST, EVENTS, MANY, Fanout, emit, watch
from benchmarks.wire import WireClient

_VERSION = "2026-07-28"
_META = json.dumps(
    {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
)


def _mcp_call(number: int) -> str:
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"add",'
        f'"arguments":{add_arguments(number)},"_meta":{_META}}}}}'
    )


MCP = Post(
    "/mcp",
    _mcp_call,
    "Accept: application/json, text/event-stream\r\n"
    f"MCP-Protocol-Version: {_VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n",
    b'"isError":false',
)


def _calls(name: str, peer: str, connections: int, scale: Scale) -> list[Result]:
    compared = run(compare_calls(connections, scale, serving_peer(peer), MCP))
    return [compared.result(name, "server CPU us/call")]


async def _fan_out(case: Fanout, scale: Scale) -> Compared:
    count = scale.count(EVENTS // max(1, case.clients // 4), least=case.burst)
    async with serving("tollgate") as service, serving_peer("socketio", BODY) as peer:
        watching = [await watch(service) for _ in range(case.clients)]
        listening = [await _joined(peer) for _ in range(case.clients)]

        async def subject() -> Figures:
            return await emit(service, watching, count, case)

        async def other() -> Figures:
            return await emit(peer, listening, count, case)

        try:
            return await interleave(scale.rounds, subject, other)
        finally:
            for client in (*watching, *listening):
                client.close()


async def _joined(server: Served) -> WireClient:
    """Connect as Engine.IO and Socket.IO want it: each greets once."""
    client = await server.client("/socket.io/?EIO=4&transport=websocket")
    await client.until(1)
    client.send(b"40")
    await client.until(2)
    return client


def _events(name: str, case: Fanout, scale: Scale) -> list[Result]:
    return [run(_fan_out(case, scale)).result(name, "server CPU us/event")]


_OVER_HTTP = (
    ("rest_mcp", "mcp", 1, "the MCP SDK's server"),
    ("rest_mcp_64", "mcp", CONNECTIONS, "the MCP SDK's server"),
    ("rest_fastmcp", "fastmcp", 1, "FastMCP's server"),
    ("rest_fastmcp_64", "fastmcp", CONNECTIONS, "FastMCP's server"),
)
_EVENTS = (
    ("ws_socketio", Fanout(1, BURST)),
    ("ws_socketio_100", Fanout(MANY, BURST)),
    ("ws_single_socketio", Fanout(1, 1)),
)

BENCHMARKS = (
    *(
        Benchmark(
            (name,),
            f"a call by REST on {connections} connections; peer: {about}",
            partial(_calls, name, peer, connections),
        )
        for name, peer, connections, about in _OVER_HTTP
    ),
    *(
        Benchmark(
            (name,),
            f"live events in bursts of {case.burst} to {case.clients} clients;"
            " peer: python-socketio",
            partial(_events, name, case),
        )
        for name, case in _EVENTS
    ),
)
