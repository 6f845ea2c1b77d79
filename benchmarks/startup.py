"""Start and memory of a server: `tollgate serve`, compared with a bare FastAPI application.

The bare one has the same server settings, one route, no tools and no database. Memory is the
resident set of the process, as counted by the kernel.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from benchmarks.harness import (
    SMOKE,
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    interleave,
    run,
)
from benchmarks.served import PATIENCE_S, SETTINGS, Served, resident_kib, started, url_of
from benchmarks.wire import WireClient

CONNECTIONS = (100, 500)


async def _compare(scale: Scale) -> Compared:
    resident_kib(os.getpid())
    counts = (2, 4) if scale is SMOKE else CONNECTIONS
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:

        async def subject() -> Figures:
            words = ("-m", "app.cli", "serve", "--port", "0", "--data-dir", folder)
            return await _serve("tollgate", words, counts)

        async def floor() -> Figures:
            return await _serve("floor", ("-m", "benchmarks.bare"), counts)

        return await interleave(scale.rounds, subject, floor)


async def _serve(kind: str, words: Sequence[str], counts: tuple[int, int]) -> Figures:
    """Measure from the command to a server that answers, and then to one full of clients."""
    began = time.perf_counter()
    async with started(sys.executable, *words, env=os.environ | SETTINGS) as process:
        server = Served(kind, process, await url_of(process), "")
        return await _figures(server, began, counts)


async def _figures(server: Served, began: float, counts: tuple[int, int]) -> Figures:
    figures: dict[str, float] = {}
    for path in ("health", "ready"):
        await asyncio.to_thread(_be_answered, server.url, path)
        figures[path] = (time.perf_counter() - began) * 1e6
    pid = server.process.pid
    figures["idle"] = idle = resident_kib(pid)
    clients: list[WireClient] = []
    for name, count in zip(("few", "many"), counts, strict=True):
        while len(clients) < count:
            clients.append(await server.client("/stream"))
        figures[name] = (resident_kib(pid) - idle) / count
    for client in clients:
        client.close()
    return figures


def _be_answered(url: str, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.request("GET", f"/api/v1/{path}")
    status = connection.getresponse().status
    connection.close()
    if status != http.HTTPStatus.OK:
        raise RuntimeError(f"the server answered {status}")


def _server(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    few, many = CONNECTIONS
    return [
        compared.result("server_alive", "wall us to the first answer", "health"),
        compared.result("server_start", "wall us to ready", "ready"),
        compared.result("server_rss", "KiB resident, idle", "idle"),
        compared.result(f"connection_rss_{few}", f"KiB per connection of {few}", "few"),
        compared.result(f"connection_rss_{many}", f"KiB per connection of {many}", "many"),
    ]


BENCHMARKS = (
    Benchmark(
        (
            *("server_alive", "server_start", "server_rss"),
            *(f"connection_rss_{count}" for count in CONNECTIONS),
        ),
        "`tollgate serve` from start to its first answer (health) and until all of it is there"
        " (ready), and its memory; floor: bare FastAPI, same settings",
        _server,
    ),
)
