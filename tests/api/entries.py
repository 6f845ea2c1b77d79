"""Every way into the gate, and a witness in place of every tool's function."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import orjson

from app.agents.content import user_content
from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.sessions import Session
from app.bootstrap.container import Runtime
from app.bootstrap.toolbox import Toolbox
from app.catalog.registry import ToolRegistry
from app.cli.call import call_through
from app.cli.call_options import CallOptions
from app.config.settings import Settings
from app.events.log import Frame
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.context import CallContext
from app.governance.approvals.approver import Approver
from app.toolkit.result import ToolResult
from app.toolkit.tool import Tool
from tests.agents.models.exchange import KEY, Waits
from tests.execution.lab import PATIENCE_S
from tests.execution.test_every_tool import CASES, store_trigger
from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import Chat, Running, serving

Arguments = dict[str, Any]
# Whatever the shape of an alias takes from a result.
_RESULT: Arguments = {
    "size": 1,
    "path": "a",
    "mode": "write",
    "content": "",
    "truncated": False,
    "entries": [],
    "total_files": 0,
    "total_dirs": 0,
    "line": 1,
    "lines": [],
    "total": 0,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of a tool's function, and what the audit held at that moment about its call."""

    tool_name: str
    operation_id: str
    decided: tuple[tuple[int, str | None], ...]


class Witness:
    """Takes the place of every tool's function; only the gate can have it run."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.ran: list[Seen] = []

    def watch(self, registry: ToolRegistry) -> None:
        with registry.transaction():
            for tool in registry.snapshot().tools.values():
                # Nothing is started or asked, so no program and no service has to be there.
                witnessed = replace(tool, function=self._function(tool), programs=(), requires=())
                registry.register(witnessed, replace=True)

    def _function(self, tool: Tool) -> Any:
        async def run(arguments: Any, context: Any) -> ToolResult:
            return await self._note(tool, context)

        async def stream(arguments: Any, context: Any) -> AsyncIterator[Any]:
            yield await self._note(tool, context)

        return stream if tool.is_streaming else run

    async def _note(self, tool: Tool, context: Any) -> ToolResult:
        # Through a connection of its own: only what is committed counts.
        decided = await asyncio.to_thread(self._decided, context.operation_id)
        self.ran.append(Seen(tool.name, context.operation_id, decided))
        return ToolResult.ok(_RESULT, text="witnessed")

    def _decided(self, operation_id: str) -> tuple[tuple[int, str | None], ...]:
        connection = sqlite3.connect(self._database)
        try:
            return tuple(
                connection.execute(
                    "SELECT seq, verdict FROM audit"
                    " WHERE operation_id = ? AND kind = 'call.decided'",
                    (operation_id,),
                )
            )
        finally:
            connection.close()


@dataclass(eq=False)
class Person:
    """Watches sessions and answers whatever is asked with one option."""

    runtime: Runtime
    option_id: str
    answers: list[asyncio.Task[Any]] = field(default_factory=list)

    def deliver(self, session_id: str, frame: Frame) -> None:
        event = orjson.loads(frame.body)
        if event["type"] == "tool_confirmation_request":
            self.answers.append(asyncio.create_task(self._answer(event)))

    async def _answer(self, asked: dict[str, Any]) -> None:
        reply = ConfirmationReply(self.option_id, asked["digest"])
        await self.runtime.confirmations.answer(
            asked["confirmation_id"], reply, Approver("boss", is_admin=True)
        )


@dataclass
class Site:
    """A served installation, its clients, and what happened there."""

    running: Running
    provider: ScriptedAnthropic
    client: httpx2.AsyncClient
    chat: Chat
    witness: Witness
    person: Person | None = None
    primed: Session | None = None
    names: frozenset[str] | None = None

    @property
    def runtime(self) -> Runtime:
        return self.running.service.runtime

    @property
    def tools(self) -> dict[str, Tool]:
        return dict(self.runtime.registry.snapshot().tools)

    def calls(self) -> Iterator[tuple[Tool, str, Arguments]]:
        """Every name that is called here, with arguments that fit; all that there are, if no
        `names` are given."""
        for tool in self.tools.values():
            for name in (tool.name, *(alias.name for alias in tool.aliases)):
                if self.names is None or name in self.names:
                    yield tool, name, CASES[tool.name][0]

    def session(self) -> Session:
        session = self.running.session()
        self.attend(session)
        return session

    def attend(self, session: Session) -> None:
        if self.person is not None:
            session.log.subscribers.add(self.person)

    async def over(self, session: Session) -> None:
        run = self.running.service.runs.active(session.id)
        if run is not None:
            async with asyncio.timeout(PATIENCE_S):
                await run.done


async def audit(runtime: Runtime, kind: str) -> dict[str, tuple[int, str | None, str | None]]:
    """Place, verdict and outcome of the rows of a kind, by operation; one for each."""
    await runtime.db.flush()
    rows = await runtime.db.transact(
        lambda transaction: transaction.fetch(
            "SELECT operation_id, seq, verdict, outcome FROM audit WHERE kind = ?", (kind,)
        )
    )
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


async def count(runtime: Runtime, kind: str) -> int:
    """How many rows of a kind the audit has."""
    await runtime.db.flush()
    rows = await runtime.db.transact(
        lambda transaction: transaction.fetch("SELECT count(*) FROM audit WHERE kind = ?", (kind,))
    )
    return int(rows[0][0])


@asynccontextmanager
async def open_site(settings: Settings) -> AsyncIterator[Site]:
    async with ScriptedAnthropic(fallback=_answer, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
        model = AnthropicModel(configured, sleep=Waits())
        async with (
            serving(settings, model=model) as running,
            HttpClient(base_url=running.api) as client,
            running.connect() as chat,
        ):
            witness = Witness(settings.database_path)
            witness.watch(running.service.registry)
            await store_trigger(running.service.runtime)
            yield Site(running, provider, client, chat, witness)


def _answer(request: Received) -> Turn:
    """Call what the message says, and be content with the result."""
    if request.tool_results():
        return Turn(text("Done."))
    name, arguments = json.loads(request.last_user_text())
    return Turn(tool_use(name, arguments))


# -- the ways in --------------------------------------------------------------------------

Enter = Callable[[Site, str, Arguments], Awaitable[None]]


async def rest_single(site: Site, name: str, arguments: Arguments) -> None:
    # Without a session nobody can be asked.
    reported = {"session_id": site.session().id} if site.person else {}
    path = f"/tools/{name}/call"
    answer = await site.client.post(path, json={"arguments": arguments, **reported})
    assert answer.status_code == 200, answer.text


async def rest_batch(site: Site, name: str, arguments: Arguments) -> None:
    """The second call equals the first and must not run."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ("a", "b")]
    body = {"calls": calls, "session_id": site.session().id}
    answer = await site.client.post("/tools/calls", json=body)
    assert answer.status_code == 200, answer.text


async def _frame(site: Site, **command: Any) -> None:
    session = site.session()
    answer = await site.chat.command(type="tool_call", session_id=session.id, **command)
    assert answer["type"] == "ack", answer
    await site.over(session)


async def ws_plain(site: Site, name: str, arguments: Arguments) -> None:
    await _frame(site, name=name, arguments=arguments)


async def ws_openai(site: Site, name: str, arguments: Arguments) -> None:
    function = {"name": name, "arguments": json.dumps(arguments)}
    await _frame(site, calls=[{"id": "c", "type": "function", "function": function}])


async def ws_anthropic(site: Site, name: str, arguments: Arguments) -> None:
    await _frame(site, calls=[{"type": "tool_use", "id": "c", "name": name, "input": arguments}])


async def agent_loop(site: Site, name: str, arguments: Arguments) -> None:
    session = site.session()
    message = user_content(json.dumps([name, arguments]))
    await site.running.service.runs.send_message(session, message)
    await site.over(session)


def _box(site: Site) -> Toolbox:
    return Toolbox(
        site.runtime, site.session().log, user_id="ann", attended=site.person is not None
    )


async def toolbox(site: Site, name: str, arguments: Arguments) -> None:
    await _box(site).execute(name, arguments, {"project_id": "default"})


async def toolbox_batch(site: Site, name: str, arguments: Arguments) -> None:
    call = {"name": name, "arguments": arguments}
    await _box(site).process_tool_calls_parallel([call], {"project_id": "default"})


async def toolbox_stream(site: Site, name: str, arguments: Arguments) -> None:
    box, context = _box(site), {"project_id": "default"}
    tool = box.get(name)
    if tool is None or not tool.is_streaming:
        await box.execute(name, arguments, context)
        return
    async for _ in box.execute_streaming(name, arguments, context=context):
        pass


async def command_line(site: Site, name: str, arguments: Arguments) -> None:
    approves = site.person is not None and site.person.option_id == "approve_once"
    options = CallOptions(name, json_text=json.dumps(arguments), yes=approves)
    await call_through(site.runtime, options)


async def mcp_port(site: Site, name: str, arguments: Arguments) -> None:
    """What a server for another protocol has to do, and no more."""
    context = CallContext(
        log=site.session().log,
        user_id="ann",
        project=site.runtime.projects.get("default"),
        caller="mcp",
        attended=site.person is not None,
    )
    await site.runtime.executor.run([CallRequest("c", name, arguments)], context)


async def after_equal_call(site: Site, name: str, arguments: Arguments) -> None:
    """In the session in which an equal call has been answered."""
    assert site.primed is not None
    site.attend(site.primed)
    run = await site.running.service.runs.call_tools(
        site.primed,
        [CallRequest("again", name, arguments)],
        caller="rest",
        attended=site.person is not None,
    )
    async with asyncio.timeout(PATIENCE_S):
        await run.done


ENTRIES: tuple[Enter, ...] = (
    *(rest_single, rest_batch, ws_plain, ws_openai, ws_anthropic, agent_loop),
    *(toolbox, toolbox_batch, toolbox_stream, command_line, mcp_port, after_equal_call),
)
