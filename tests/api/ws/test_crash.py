"""Kill -9 in the middle: what a client was told is still there, and nothing runs twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import websockets
from websockets.typing import Subprotocol

from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text
from tests.support.service import Chat

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(Path.cwd()),
    "TOLLGATE_PORT": "0",
    "TOLLGATE_OPEN_HOUSE": "true",
}


@dataclass(slots=True)
class Server:
    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def get(self, path: str) -> Any:
        async with httpx2.AsyncClient(base_url=f"{self.url}/api/v1") as client:
            answer = await client.get(path)
            answer.raise_for_status()
            return answer.json()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Chat]:
        url = self.url.replace("http", "ws", 1) + "/api/v1/ws"
        async with websockets.connect(url, subprotocols=[Subprotocol("tollgate.v1")]) as socket:
            chat = Chat(socket)
            await chat.send({"type": "hello", "id": "hello"})
            await chat.until("ack")
            yield chat


@asynccontextmanager
async def server(folder: Path, environment: dict[str, str] | None = None) -> AsyncIterator[Server]:
    """`tollgate serve` as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "app.cli", "serve", "--data-dir", str(folder / "data")),
        cwd=folder,
        env=ENVIRONMENT | (environment or {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            while b"url" not in (line := await process.stdout.readline()):
                assert line, (await process.communicate())[1].decode()
        yield Server(process, line.split()[1].decode())
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def new_session(running: Server) -> str:
    async with httpx2.AsyncClient(base_url=f"{running.url}/api/v1") as client:
        session_id: str = (await client.post("/sessions", json={})).json()["id"]
        return session_id


async def test_a_killed_service_shows_the_run_as_interrupted_and_runs_nothing_again(
    tmp_path: Path,
):
    calls = [
        {"id": "quick", "name": "bash", "arguments": {"command": "echo quick >> log"}},
        {"id": "slow", "name": "bash", "arguments": {"command": "echo slow >> log; sleep 60"}},
    ]
    async with server(tmp_path) as first:
        session_id = await new_session(first)
        async with first.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            await chat.command(type="tool_call", session_id=session_id, calls=calls)
            await chat.until("tool_call_started", lambda m: m["tool_call_id"] == "slow")
            if not [m for m in chat.seen if m["type"] == "tool_call_completed"]:
                await chat.until("tool_call_completed")
            await first.kill()
        acknowledged = chat.durable()
    log = tmp_path / "data" / "workspace" / "log"
    written = log.read_text()

    async with server(tmp_path) as second:
        page = await second.get(f"/sessions/{session_id}/events?limit=1000")
        runs = await second.get(f"/sessions/{session_id}/runs")
        stored = await second.get(f"/sessions/{session_id}/calls")

    events = page["events"]
    assert events[: len(acknowledged)] == acknowledged
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ends = {e["tool_call_id"]: e["status"] for e in events if e["type"] == "tool_call_completed"}
    assert ends == {"quick": "success", "slow": "interrupted"}
    assert (events[-1]["type"], events[-1]["status"]) == ("run_finished", "interrupted")
    assert runs["runs"][0]["status"] == "interrupted"
    assert {call["id"]: call["status"] for call in stored["calls"]} == ends
    assert log.read_text() == written


async def test_what_was_acknowledged_before_a_kill_is_never_lost(tmp_path: Path):
    seen: list[dict[str, Any]] = []
    async with server(tmp_path) as first:
        session_id = await new_session(first)
        async with first.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            for number in range(12):
                await chat.send(
                    {
                        "type": "tool_call",
                        "id": f"call-{number}",
                        "session_id": session_id,
                        "name": "calculator",
                        "arguments": {"expression": f"{number}*2"},
                    }
                )
                # Not only the call's end: the next one would find the session busy.
                await chat.until("run_finished")
            await first.kill()
            seen = chat.durable()
    async with server(tmp_path) as second:
        page = await second.get(f"/sessions/{session_id}/events?limit=1000")

    assert page["events"][: len(seen)] == seen
    assert json.dumps(seen)


async def test_a_message_that_waited_for_its_turn_is_kept(tmp_path: Path):
    async with ScriptedAnthropic() as provider:
        held = Gate()
        provider.script(Turn(text("thinking ", held)))
        model = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server(tmp_path, model) as first:
            session_id = await new_session(first)
            say = {"type": "user_message", "session_id": session_id}
            async with first.connect() as chat:
                await chat.command(**say, content="first")
                await held.reached.wait()
                for number in range(2):
                    await chat.command(**say, content=f"later {number}", when_busy="queue")
                await first.kill()
        held.open()
        async with server(tmp_path) as second:
            messages = (await second.get(f"/sessions/{session_id}/messages"))["messages"]
            runs = (await second.get(f"/sessions/{session_id}/runs"))["runs"]
            events = (await second.get(f"/sessions/{session_id}/events"))["events"]

    said = [message["content"][0]["text"] for message in messages if message["role"] == "user"]
    assert said == ["first", "later 0", "later 1"]
    assert [run["status"] for run in runs] == ["interrupted"] * 3
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ends = [event["status"] for event in events if event["type"] == "run_finished"]
    assert ends == ["interrupted"] * 3
