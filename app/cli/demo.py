"""`tollgate demo`: a real server and a real WebSocket client, without a model or an API key."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from app.cli.bootstrap_token import kept_token
from app.cli.client import Event, State, WsClient
from app.cli.confirmation_text import option_of
from app.cli.rest import request
from app.cli.service_errors import ConnectionFailed
from app.cli.stream_view import StreamView
from app.config.sections import OWN_VARIABLES

START_S, STEP_S, STOP_S = 30, 60, 15
LINES = 'for i in 1 2 3 4 5; do echo "building part $i of 5"; sleep 0.25; done'
MORE_LINES = 'for i in 1 2 3 4 5 6; do echo "checking part $i of 6"; sleep 0.25; done'
RISKY = "rm -rf old-build"
FORBIDDEN = "rm -rf --preserve-root /"  # the option makes it harmless even where nothing forbids it
_CODE_ROOT = Path(__file__).resolve().parent.parent.parent


async def run_demo() -> int:
    """Show the session; return 0 if every step succeeded.

    Raises:
        ConnectionFailed: The server did not start, or a step did not end.
    """
    view = StreamView(Console(highlight=False))
    with tempfile.TemporaryDirectory(prefix="tollgate-demo-") as folder:
        async with _server(Path(folder)) as (url, token):
            view.line(f"A server runs at {url} in a temporary folder.")
            session = await request(url, "/sessions", token=token, body={"title": "Demo"})
            client = WsClient(url, token, "tollgate-demo", _announcer(view))
            async with client:
                demo = _Demo(client, view, session["id"])
                await demo.show()
            second = WsClient(url, token, "tollgate-demo-replay")
            replayed = await _replay(second, view, session["id"], demo.seen)
    same = replayed == demo.seen
    view.line(_summary(demo, len(replayed), same=same), "bold green" if same else "bold red")
    return 0 if same else 1


class _Demo:
    """Steps on one session, with every durable event they produced."""

    def __init__(self, client: WsClient, view: StreamView, session_id: str) -> None:
        self._client = client
        self._view = view
        self._session_id = session_id
        self._stream = client.events()
        self.seen: list[Event] = []

    async def show(self) -> None:
        await self._client.subscribe(self._session_id)
        self._step("Tools stream their output while they run.")
        await self._call("bash", command=LINES)
        self._step("Several calls of one batch run concurrently.")
        await self._batch(
            {"name": "write_file", "arguments": {"path": "old-build/app.bin", "content": "old\n"}},
            {"name": "calculator", "arguments": {"expression": "6 * 7"}},
        )
        self._step("A risky command needs approval. This demo answers: no.")
        await self._call("bash", answer="deny", command=RISKY)
        await self._call("file_exists", path="old-build/app.bin")
        self._step("It needs approval again. This demo answers: yes, once.")
        await self._call("bash", answer="allow", command=RISKY)
        await self._call("file_exists", path="old-build/app.bin")
        self._step("A call that policy denies cannot be approved.")
        await self._call("bash", command=FORBIDDEN)
        self._step(
            "The connection breaks while a tool runs. The tool continues, and no event is lost."
        )
        await self._call("bash", drop=True, command=MORE_LINES)

    def _step(self, text: str) -> None:
        self._view.line(f"\n{text}", "bold")

    async def _call(
        self, name: str, *, answer: str | None = None, drop: bool = False, **arguments: Any
    ) -> None:
        await self._client.command(
            "tool_call", session_id=self._session_id, name=name, arguments=arguments
        )
        if drop:
            await self._until("tool_result_streamed", answer)
            await self._client.drop()
        await self._until("run_finished", answer)

    async def _batch(self, *calls: Event) -> None:
        await self._client.command("tool_call", session_id=self._session_id, calls=list(calls))
        await self._until("run_finished", None)

    async def _until(self, kind: str, answer: str | None) -> None:
        """Show events up to one of a kind, and answer confirmations."""
        try:
            async with asyncio.timeout(STEP_S):
                async for event in self._stream:
                    self._view.event(event)
                    if "seq" in event:
                        self.seen.append(event)
                    if event["type"] == "tool_confirmation_request":
                        await self._answer(event, answer or "deny")
                    if event["type"] == kind:
                        return
        except TimeoutError:
            raise ConnectionFailed(f"{kind} did not arrive within {STEP_S} s") from None

    async def _answer(self, question: Event, kind: str) -> None:
        await self._client.command(
            "tool_confirmation_response",
            session_id=self._session_id,
            confirmation_id=question["confirmation_id"],
            option_id=option_of(question, kind),
            digest=question["digest"],
        )


async def _replay(
    client: WsClient, view: StreamView, session_id: str, seen: list[Event]
) -> list[Event]:
    """Connect as a new client and receive the whole log."""
    view.line("\nA second client connects and receives the whole log:", "bold")
    replayed: list[Event] = []
    async with client:
        await client.subscribe(session_id)
        async with asyncio.timeout(STEP_S):
            async for event in client.events():
                if "seq" not in event:
                    continue
                replayed.append(event)
                view.line(f"  seq {event['seq']:3}  {event['ts'][11:23]}  {_describe(event)}")
                if event["seq"] >= seen[-1]["seq"]:
                    break
    return replayed


def _describe(event: Event) -> str:
    details = [
        str(event[key]) for key in ("tool_name", "status", "outcome", "role") if key in event
    ]
    return f"{event['type']}  {' '.join(details)}".rstrip()


def _summary(demo: _Demo, replayed: int, *, same: bool) -> str:
    statuses = [e["status"] for e in demo.seen if e["type"] == "tool_call_completed"]
    counted = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses))
    verdict = "identical to the live events" if same else "DIFFERENT from the live events"
    return (
        f"\n{len(statuses)} tool calls ({counted}); {len(demo.seen)} durable events, "
        f"seq 1 to {demo.seen[-1]['seq']}; the replay returned {replayed}, {verdict}."
    )


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[tuple[str, str | None]]:
    """Start a server on a free port; return its URL and the token it created."""
    # Without the caller's configuration: the demo is the same everywhere.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OWN_VARIABLES)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "app.cli", "serve", "--host", "127.0.0.1", "--port", "0"),
        *("--data-dir", str(folder / "data")),
        cwd=folder,
        env={
            **kept,
            "PYTHONPATH": str(_CODE_ROOT),
            "TOLLGATE_LOG_LEVEL": "warning",
            # Commands in another terminal must not find it.
            "XDG_STATE_HOME": str(folder),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        url = await _announced_url(process)
        yield url, kept_token(folder / "data")
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _announced_url(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            while line := await process.stdout.readline():
                word, _, value = line.decode("utf-8", "replace").strip().partition(" ")
                if word == "url":
                    return value.strip()
    except TimeoutError:
        raise ConnectionFailed(f"The server did not start within {START_S} s") from None
    raise ConnectionFailed("The server did not start: see its output above")


def _announcer(view: StreamView) -> Callable[[State, str], None]:
    def announce(state: State, detail: str) -> None:
        if state == "lost":
            view.note(f"-- connection lost: {detail}", "yellow")
        elif state == "connected":
            view.note("-- connected", "yellow")

    return announce
