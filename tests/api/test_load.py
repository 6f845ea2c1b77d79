"""A whole service under load: 200 commands at once, cancelled, timing out, flooding.

At a desk it is a quarter of them.

The figures it prints are for people; how fast the service answers is measured by a benchmark.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.rest.client import new_session
from tests.operations.sandbox.procs import marker, until_gone, with_marker
from tests.support.binaries import in_ci
from tests.support.http import HttpClient
from tests.support.server_process import ENVIRONMENT, Server
from tests.support.service import Chat
from tests.support.stack_dump import DUMPED

ORDINARY, CANCELLED, TIMED_OUT, FLOODING = (120, 50, 20, 10) if in_ci() else (30, 12, 5, 3)
TOGETHER = ORDINARY + CANCELLED + TIMED_OUT + FLOODING
PATIENCE_S = 180
# More than a service takes that is cut off because it does not come to its end.
END_S = 90
GIBIBYTE = 1 << 30
MORE_MEMORY = 256 << 20
Events = list[dict[str, Any]]


@dataclass(slots=True)
class Observed:
    """What was seen of the service meanwhile.

    Attributes:
        latencies: seconds that each answer about its health took.
        memory_bytes: the most it held.
    """

    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    memory_bytes: int = 0


@asynccontextmanager
async def loaded_server(folder: Path) -> AsyncIterator[Server]:
    """`tollgate serve`, whose log goes to a file: a pipe nobody reads would stop it."""
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.support.stack_dump", "serve", "--data-dir", str(folder / "data")),
            cwd=folder,
            env=ENVIRONMENT,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while b"url" not in (line := await process.stdout.readline()):
                assert line, (folder / "log").read_text()
        yield Server(process, line.split()[1].decode())
    finally:
        try:
            await end(process)
        finally:
            print(said(folder / "log"))


async def end(process: asyncio.subprocess.Process) -> None:
    """Let it end by itself."""
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()
        raise


@asynccontextmanager
async def bounded(server: Server, log: Path, waiting: set[str]) -> AsyncIterator[None]:
    """Fail after `PATIENCE_S` by telling what was waited for, and what the service was doing."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield
    except TimeoutError:
        server.process.send_signal(signal.SIGUSR1)
        async with asyncio.timeout(END_S):
            reported = await until_reported(log)
        pytest.fail(f"not finished: {sorted(waiting)}\n{reported}")


async def until_reported(log: Path) -> str:
    while True:
        if DUMPED in (reported := said(log)):
            return reported
        await asyncio.sleep(0)


def said(log: Path) -> str:
    return log.read_text(errors="replace")


@contextmanager
def awaited(waiting: set[str], what: str) -> Iterator[None]:
    """Keep in `waiting` what the block waits for, also when it is given up."""
    waiting.add(what)
    yield
    waiting.discard(what)


@asynccontextmanager
async def observing(client: httpx2.AsyncClient, pid: int) -> AsyncIterator[Observed]:
    """Ask for its health again and again until the block ends."""
    observed = Observed()

    async def ask() -> None:
        while True:
            started = time.perf_counter()
            answer = await client.get("/health")
            observed.latencies.append(time.perf_counter() - started)
            observed.statuses[answer.status_code] += 1
            observed.memory_bytes = max(observed.memory_bytes, memory_of(pid))
            await asyncio.sleep(0.02)

    asking = asyncio.create_task(ask())
    try:
        yield observed
    finally:
        asking.cancel()
        await asyncio.wait({asking})
        if not asking.cancelled():
            asking.result()


def memory_of(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def descendants(pid: int) -> set[int]:
    """Every living process below `pid`."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            below = {int(word) for word in task.read_text().split()} - found
            found |= below
            waiting.extend(below)
    return found


async def run_bash(
    client: httpx2.AsyncClient,
    session_id: str,
    command: str,
    waiting: set[str],
    timeout_s: int = 120,
) -> dict[str, Any]:
    """One call over REST; its answer."""
    arguments = {"command": command, "timeout": timeout_s}
    body = {"arguments": arguments, "session_id": session_id}
    with awaited(waiting, f"{command} in {session_id}"):
        answer = await client.post("/tools/bash/call", json=body)
    assert answer.status_code == 200, answer.text
    reported: dict[str, Any] = answer.json()
    return reported


async def start_over_websocket(chat: Chat, session_id: str, command: str) -> str:
    """One call that is not waited for; the id of its run."""
    ack = await chat.command(
        type="tool_call",
        session_id=session_id,
        name="bash",
        arguments={"command": command, "timeout": 600},
    )
    run_id: str = ack["result"]["run_id"]
    return run_id


async def events_of(client: httpx2.AsyncClient, session_id: str) -> Events:
    answer = await client.get(f"/sessions/{session_id}/events", params={"limit": 1000})
    events: Events = answer.json()["events"]
    return events


def pairs_of(events: Events) -> dict[str, Counter[str]]:
    """By the id of a call or a run: how often it began and ended."""
    found: dict[str, Counter[str]] = {}
    for event in events:
        if event["type"] in ("tool_call_started", "tool_call_completed"):
            found.setdefault(event["tool_call_id"], Counter())[event["type"]] += 1
        elif event["type"] in ("run_started", "run_finished"):
            found.setdefault(event["run_id"], Counter())[event["type"]] += 1
    return found


async def until_all_run(client: httpx2.AsyncClient, sessions: list[str], mark: str) -> None:
    """Return once each session has a process with `mark`; fail when the call of one has ended.

    That one would be waited for in vain.
    """
    for session_id in cycle(sessions):
        if len(with_marker(mark)) >= len(sessions):
            return
        events = await events_of(client, session_id)
        if any(event["type"] == "run_finished" for event in events):
            pytest.fail(f"it ended before it was cancelled: {events}")
        await asyncio.sleep(0.05)


async def cancel_half_way(
    server: Server,
    client: httpx2.AsyncClient,
    sessions: list[str],
    mark: str,
    waiting: set[str],
) -> None:
    """Start as many as there are sessions over one connection; cancel them once all run."""
    async with server.connect() as chat:
        runs = [await start_over_websocket(chat, name, f"sleep {mark}") for name in sessions]
        with awaited(waiting, "the start of those that are cancelled"):
            await until_all_run(client, sessions, mark)
        for session_id, run_id in zip(sessions, runs, strict=True):
            await chat.command(type="cancel", session_id=session_id, target="run", target_id=run_id)


async def until_finished(
    client: httpx2.AsyncClient, sessions: list[str], waiting: set[str]
) -> list[Events]:
    """The events of each session, once its run has ended."""
    found = []
    for session_id in sessions:
        events = await events_of(client, session_id)
        with awaited(waiting, f"the end of {session_id}"):
            while not any(event["type"] == "run_finished" for event in events):
                await asyncio.sleep(0.05)
                events = await events_of(client, session_id)
        found.append(events)
    return found


async def test_many_commands_at_once_leave_the_service_as_it_was(tmp_path: Path):
    long, late = marker(), marker()
    ordinary = [f"echo {number}; sleep 0.2" for number in range(ORDINARY)]
    floods = [f"head -c {GIBIBYTE} /dev/zero"] * FLOODING
    limits = httpx2.Limits(max_connections=None)
    waiting: set[str] = set()
    async with (
        loaded_server(tmp_path) as server,
        HttpClient(base_url=f"{server.url}/api/v1", timeout=PATIENCE_S, limits=limits) as client,
        HttpClient(base_url=f"{server.url}/api/v1", timeout=PATIENCE_S) as health,
    ):
        sessions = [await new_session(client) for _ in range(TOGETHER)]
        waited, cancelled = sessions[CANCELLED:], sessions[:CANCELLED]
        await run_bash(client, await new_session(client), "true", waiting)
        pid = server.process.pid
        before, memory = descendants(pid), memory_of(pid)

        async with bounded(server, tmp_path / "log", waiting), observing(health, pid) as observed:
            commands = [(text, 120) for text in ordinary + floods]
            commands += [(f"sleep {late}", 2)] * TIMED_OUT
            calls = [
                run_bash(client, session_id, text, waiting, timeout_s)
                for session_id, (text, timeout_s) in zip(waited, commands, strict=True)
            ]
            results, _ = await asyncio.gather(
                asyncio.gather(*calls), cancel_half_way(server, client, cancelled, long, waiting)
            )
            histories = await until_finished(client, sessions, waiting)
            for mark in (long, late):
                await until_gone(mark=mark)
        left = descendants(pid)

    assert server.process.returncode == 0, "it had to be cut off; its log says where it hung"
    report(observed, memory)
    statuses = [Counter(r["status"] for r in part) for part in parts(results)]
    assert statuses[0] == {"success": ORDINARY}
    assert [r["record"]["success"] for r in results[ORDINARY : ORDINARY + FLOODING]] == (
        [False] * FLOODING
    )
    assert set(statuses[2]) <= {"timeout", "error"}
    assert {history[-1]["type"] for history in histories} == {"run_finished"}
    ends = [history[-1]["status"] for history in histories[:CANCELLED]]
    assert ends == ["cancelled"] * CANCELLED
    assert unpaired(histories) == []
    assert len(left) <= len(before), "something of a call still runs"
    assert observed.statuses == {200: len(observed.latencies)}
    assert observed.memory_bytes < memory + MORE_MEMORY


def parts(results: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The ordinary calls, those that flood and those that are too slow."""
    flooding = ORDINARY + FLOODING
    return [results[:ORDINARY], results[ORDINARY:flooding], results[flooding:]]


def unpaired(histories: list[Events]) -> list[str]:
    """Calls and runs that did not begin and end exactly once."""
    wrong = []
    for history in histories:
        pairs = pairs_of(history)
        assert pairs
        wrong += [name for name, pair in pairs.items() if sorted(pair.values()) != [1, 1]]
    return wrong


def report(observed: Observed, memory: int) -> None:
    took = sorted(observed.latencies)
    worst = ", ".join(f"{1000 * value:.0f}" for value in took[-3:])
    print(
        f"\nhealth: {len(took)} answers, median {1000 * statistics.median(took):.0f} ms, "
        f"95 % within {1000 * took[int(0.95 * len(took))]:.0f} ms, worst {worst} ms; memory "
        f"{memory >> 20} MB, at most {observed.memory_bytes >> 20} MB"
    )
