"""A whole gate on a real database, tools made for the occasion, and eyes on its events."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.agents.sessions import Session, Sessions
from app.bootstrap.container import Runtime
from app.bootstrap.installation import local_runtime
from app.bootstrap.runtime import open_runtime
from app.catalog.registry import ToolRegistry
from app.config.settings import Settings, load_settings
from app.core.clock import Clock
from app.db.writer import Transaction
from app.events.log import Frame
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.context import CallContext
from app.execution.outcome import CallOutcome
from app.governance.approvals.approver import Approver
from app.operations.local.workspace import LocalWorkspaces
from app.toolkit.tool import PermissionClass, SideEffectScope, Tool, ToolArgs, tool

PATIENCE_S = 60

Event = dict[str, Any]
WRITES: dict[str, Any] = {
    "permission": PermissionClass.WRITE,
    "side_effect": SideEffectScope.LOCAL_STATE,
}


class AnyArgs(ToolArgs):
    """Arguments of most tools here."""

    text: str = ""
    number: int = 0


class Watcher:
    """Somebody subscribed to a session: keeps every event, and can be waited for."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.events: list[Event] = []
        self._news = asyncio.Event()

    def deliver(self, session_id: str, frame: Frame) -> None:
        self.frames.append(frame)
        self.events.append(json.loads(frame.body))
        self._news.set()

    async def until(self, kind: str, count: int = 1, **fields: Any) -> Event:
        """The `count`-th event of that type with those fields."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := self.of(kind, **fields)) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    def of(self, kind: str, **fields: Any) -> list[Event]:
        return [
            event
            for event in self.events
            if event["type"] == kind and fields.items() <= event.items()
        ]

    def about(self, call_id: str) -> list[str]:
        """Types of the events of one call, in order."""
        return [event["type"] for event in self.events if event.get("tool_call_id") == call_id]


@dataclass
class Lab:
    """A gate with one open session."""

    runtime: Runtime
    sessions: Sessions
    session: Session
    watcher: Watcher
    context: dict[str, Any] = field(default_factory=dict)

    def add(self, *tools: Tool) -> None:
        for made in tools:
            self.runtime.registry.register(made)

    def call_context(self, **changes: Any) -> CallContext:
        return CallContext(**{"log": self.session.log, **self.context, **changes})

    async def run(
        self, *requests: CallRequest, workers: int | None = None, **changes: Any
    ) -> list[CallOutcome]:
        """Run a batch, and wait until everything about it is committed and seen."""
        async with asyncio.timeout(PATIENCE_S):
            outcomes = await self.runtime.executor.run(
                requests, self.call_context(**changes), max_workers=workers
            )
            await self.runtime.db.flush()
        return outcomes

    async def call(self, name: str, /, call_id: str = "c1", **arguments: Any) -> CallOutcome:
        return (await self.run(CallRequest(call_id, name, arguments)))[0]

    async def answer(self, option_id: str, request: Event | None = None, **changes: Any) -> str:
        """Answer the confirmation that is, or comes to be, open."""
        asked = request or await self.watcher.until("tool_confirmation_request")
        session_id, by = changes.pop("session_id", None), changes.pop("by", "ann")
        approver = by if isinstance(by, Approver) else Approver(by)
        return await self.runtime.confirmations.answer(
            asked["confirmation_id"],
            ConfirmationReply(**{"option_id": option_id, "digest": asked["digest"], **changes}),
            approver,
            session_id=session_id,
        )

    async def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(sql, values)

        return await self.runtime.db.transact(read)


def made(function: Any, /, **options: Any) -> Tool:
    """A tool from a function `(args: AnyArgs, ctx)`; a docstring is made up."""
    function.__doc__ = function.__doc__ or "Made for a test."
    return tool(**options)(function)


def settings_for(data_dir: Path, template: Path, **changes: Any) -> Settings:
    """Settings of an installation whose database is a copy of `template`."""
    data_dir.mkdir(parents=True, exist_ok=True)
    if not (data_dir / "tollgate.db").exists():
        shutil.copy(template, data_dir / "tollgate.db")
    return load_settings(**{"data_dir": data_dir, "anthropic_api_key": None, **changes})


@asynccontextmanager
async def open_lab(
    settings: Settings, *, clock: Clock | None = None, project: str | None = "default"
) -> AsyncIterator[Lab]:
    async with local_runtime(settings, clock=clock) as runtime:
        yield await furnish(runtime, project=project)


@asynccontextmanager
async def bare_lab(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[Lab]:
    """A lab whose catalog is empty."""
    async with open_runtime(settings, ToolRegistry(), LocalWorkspaces(), clock=clock) as runtime:
        yield await furnish(runtime, project=None)


async def furnish(runtime: Runtime, *, project: str | None) -> Lab:
    async def load(_: str) -> None:
        return None

    sessions = Sessions(runtime.db, runtime.events, runtime.clock, load)
    session = sessions.create(user_id="ann", project_id=project)
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    lab = Lab(runtime, sessions, session, watcher, {"user_id": session.user_id})
    if project:
        lab.context["project"] = runtime.projects.get(project)
    return lab


@contextmanager
def counted(results: Iterator[Any] | None = None) -> Iterator[tuple[Callable[..., Any], list[Any]]]:
    """A tool function and the list of arguments it ran with."""
    ran: list[Any] = []

    async def note(args: AnyArgs, ctx: Any) -> Any:
        ran.append(args)
        return {"n": len(ran)} if results is None else next(results)

    yield note, ran
