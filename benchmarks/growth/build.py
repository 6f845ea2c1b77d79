"""Data folder with any number of sessions, written by the service itself.

Sessions are run, not inserted: a scripted model calls tools, and the stores of the service write
rows, events and the audit log as for any user. Sessions run in batches, so that they share commits,
and are spread over a period, as if a user had started each at its time.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from app.agents.call_statistics import CallFigures
from app.agents.content import user_content
from app.agents.run import Run
from app.agents.sessions import Session
from app.bootstrap.agents import agent_parts, open_loop, open_runs
from app.bootstrap.service import ComposedService, open_service
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.text import dump_json
from app.domain.schedules import ScheduleInput, ScheduleOwner
from app.events.log import Frame
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.confirmation.options import APPROVE_ONCE, DECLINE
from app.governance.agents import AgentProfile
from app.governance.approvals.approver import Approver
from app.governance.audit.verify import verify
from app.governance.limits import QuotaSubject
from benchmarks.growth.content import (
    AGENTS,
    NoteModel,
    PastClock,
    message,
    note_call,
    owner,
)
from benchmarks.growth.tools import PLUGIN
from benchmarks.runtime import bench_settings

DAYS = 90
CONCURRENT = 10
"""Number of concurrent sessions; the same in every folder, so that events are stored alike."""
PENDING = 60
"""Maximum number of confirmations left open, more than one page of them."""
CALLS_PER_RUN = 4
SESSIONS_PER_SCHEDULE = 100
SCHEDULES_PER_USER = 40
ADMINISTRATOR, USER = "operator", owner(12)
_USER_SCOPES = ("chat", "tools:call", "approve")
_CALL_ENDS = {"success", "declined"}
_DAY_S = 86_400

Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a data folder, as far as requests name them.

    Attributes:
        sessions: number of sessions, without the long ones.
        administrator, user: secrets of two tokens.
        middle: chat with as many newer as older ones.
        long: long sessions by their requested number of events, as `(ID, last seq)`.
        counts: number of rows by kind.
    """

    sessions: int
    administrator: str
    user: str
    middle: str
    long: dict[int, tuple[str, int]]
    counts: dict[str, int]

    @property
    def longest(self) -> tuple[str, int]:
        """ID and last `seq` of the longest session."""
        return self.long[max(self.long)]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields = json.loads(text)
        fields["long"] = {int(size): tuple(found) for size, found in fields["long"].items()}
        return cls(**fields)


def folder_settings(folder: Path) -> Settings:
    """Return the settings with which a data folder is built and extended.

    Prompts are short, because only the model sees them, and this one reads none.
    """
    return bench_settings(
        folder,
        log_level="error",
        confirmation_ttl_s=0,
        prompt_exclude=["skills", "memory", "todo"],
    )


@asynccontextmanager
async def opened(folder: Path, clock: Clock | None = None) -> AsyncIterator[ComposedService]:
    """Open the service on a data folder, in this process."""
    async with open_service(folder_settings(folder), model=NoteModel(), clock=clock) as service:
        yield service


def add_plugin(folder: Path, name: str, text: str) -> None:
    """Write a plugin file, which the next start loads."""
    plugins = folder_settings(folder).plugins_dir
    plugins.mkdir(parents=True, exist_ok=True)
    (plugins / f"{name}.py").write_text(text, encoding="utf-8")


async def build(folder: Path, sessions: int, lengths: Sequence[int], report: Report) -> Contents:
    """Fill a new data folder, and verify its audit log and its events.

    Args:
        lengths: number of events of each long session.
        report: called with the number of sessions so far.

    Raises:
        RuntimeError: a run failed, the audit chain is broken, or events are missing.
    """
    clock = PastClock(DAYS * _DAY_S)
    add_plugin(folder, "notes", PLUGIN)
    async with opened(folder, clock) as service:
        builder = _Builder(service, clock, sessions, report)
        for name in AGENTS:
            profile = AgentProfile(id=name, title=name.title())
            await service.runtime.agents.create(profile, actor=ADMINISTRATOR)
        return await builder.build(lengths)


class _Builder:
    """Runs the sessions of one data folder."""

    def __init__(
        self, service: ComposedService, clock: PastClock, total: int, report: Report
    ) -> None:
        self._service = service
        self._clock = clock
        self._total = total
        self._report = report
        self._counts: Counter[str] = Counter()
        self._ended: list[Session] = []
        self._middle = ""
        self._messages = _FirstMessages()
        runtime, sessions = service.runtime, service.sessions
        parts = agent_parts(runtime)
        loop = open_loop(runtime, parts, sessions, NoteModel())
        self._runs = open_runs(runtime, parts, sessions, loop, self._messages)

    async def build(self, lengths: Sequence[int]) -> Contents:
        long = _LongSessions(self._service, lengths)
        pending = min(PENDING, self._total // 10)
        ended = self._total - pending
        for first in range(0, ended, CONCURRENT):
            self._clock.move(DAYS * _DAY_S * (1 - first / self._total))
            numbers = range(first, min(first + CONCURRENT, ended))
            await asyncio.gather(*map(self._session, numbers), long.grow(len(numbers)))
            await self._release()
            self._report(numbers[-1] + 1)
        await long.grow(None)
        self._clock.move(0)
        await self._schedules()
        tokens = self._service.tokens
        administrator, _ = await tokens.create(ADMINISTRATOR)
        user, _ = await tokens.create(USER, _USER_SCOPES)
        for number in range(ended, self._total):
            await self._unanswered(number)
        await self._service.runtime.db.flush()
        await self._check(long)
        counts = dict(self._counts)
        return Contents(self._total, administrator, user, self._middle, long.found(), counts)

    async def _session(self, number: int) -> None:
        if number % 4 == 3:
            await self._direct(number)
            return
        sends = number % 8 == 2
        session = self._chat(number)
        answerer = _Answerer(self._service, session, declines=number % 16 == 2) if sends else None
        await self._say(session, message(number, sends=sends))
        if answerer is not None:
            await answerer.done()
        # The list of an administrator contains chats only; this is the last before its middle.
        if number <= self._total // 2:
            self._middle = session.id
        self._count(session, calls=2, confirmations=sends)

    async def _direct(self, number: int) -> None:
        user = owner(number)
        session = self._service.sessions.create(user_id=user, kind="direct", title="Direct call")
        calls = [note_call(2 * number), note_call(2 * number + 1)]
        await _call(self._service, session, calls)
        self._count(session, calls=2)

    async def _unanswered(self, number: int) -> None:
        """Start a run that waits for an answer."""
        session = self._chat(number)
        asked = _Asked(session)
        content = user_content(message(number, sends=True))
        await self._service.runs.send_message(session, content)
        await asked.first
        self._count(session, calls=2, confirmations=1)

    def _chat(self, number: int) -> Session:
        agent = (None, *AGENTS)[number % (len(AGENTS) + 1)]
        return self._service.sessions.create(user_id=owner(number), agent_id=agent)

    async def _say(self, session: Session, text: str) -> None:
        content = self._messages.of_session[session.id] = user_content(text)
        await self._runs.send_message(session, content)
        run = self._runs.active(session.id)
        assert run is not None
        await _must_succeed(run)
        del self._messages.of_session[session.id]

    def _count(self, session: Session, **counts: int) -> None:
        self._counts.update(sessions=1, events=session.log.head, **counts)
        self._ended.append(session)

    async def _release(self) -> None:
        """Close the sessions of a batch, which is possible once their events are committed."""
        await self._service.runtime.db.flush()
        for session in self._ended:
            self._service.sessions.release(session)
        self._ended.clear()

    async def _schedules(self) -> None:
        """Store schedules that are not due while the folder is measured."""
        for number in range(max(1, self._total // SESSIONS_PER_SCHEDULE)):
            draft = ScheduleInput(f"Report {number}", "Summarize the orders.", at="in 300d")
            user = f"user-{number // SCHEDULES_PER_USER}"
            by = ScheduleOwner(user, AGENTS[number % len(AGENTS)], None, None)
            await self._service.schedules.create(draft, by)
            self._counts["schedules"] += 1

    async def _check(self, long: _LongSessions) -> None:
        """Verify what is stored, as the service itself does."""
        database = self._service.database
        chain = await verify(database)
        if not chain.ok:
            raise RuntimeError(f"the audit chain is broken: {chain.broken}")
        calls = await CallFigures(database).counts("tool")
        if not set(calls.total.statuses) <= _CALL_ENDS:
            raise RuntimeError(f"calls failed: {dict(calls.total.statuses)}")
        for session in long.sessions:
            events = await self._service.archive.events(
                session.id, session.epoch, after=0, limit=session.log.head + 1
            )
            if [seq for seq, _ in events] != list(range(1, session.log.head + 1)):
                raise RuntimeError(f"events of session {session.id} are missing")
            self._counts["events"] += session.log.head
        self._counts["calls"] += long.calls
        self._counts["audit lines"] = chain.rows


@dataclass(frozen=True, slots=True)
class _Entry:
    """`StoredEntry` of a user message."""

    id: str
    content: str
    role: str = "user"


class _FirstMessages:
    """Branches of sessions with one message so far, in place of the database.

    Reading back what was just written takes half of the time of a short run.
    """

    def __init__(self) -> None:
        self.of_session: dict[str, list[dict[str, Any]]] = {}

    async def path(self, session_id: str, leaf: str) -> list[_Entry]:
        """Return the branch, as `DatabaseQueries.path` would."""
        return [_Entry(leaf, dump_json(self.of_session[session_id]).decode())]


class _LongSessions:
    """Sessions with many runs, started and continued beside the others.

    Their density in the event log is therefore the same in every folder.
    """

    def __init__(self, service: ComposedService, lengths: Sequence[int]) -> None:
        self._service = service
        self.sessions = [
            service.sessions.create(user_id=USER, title=f"{length} events") for length in lengths
        ]
        self._lengths = lengths
        self.calls = 0

    async def grow(self, runs: int | None) -> None:
        """Add up to `runs` runs to each session; all that are missing if None."""
        await asyncio.gather(
            *(
                self._lengthen(session, length, runs)
                for session, length in zip(self.sessions, self._lengths, strict=True)
            )
        )

    async def _lengthen(self, session: Session, length: int, runs: int | None) -> None:
        while session.log.head < length and runs != 0:
            calls = [note_call(self.calls + number) for number in range(CALLS_PER_RUN)]
            self.calls += CALLS_PER_RUN
            await _call(self._service, session, calls)
            runs = None if runs is None else runs - 1

    def found(self) -> dict[int, tuple[str, int]]:
        pairs = zip(self._lengths, self.sessions, strict=True)
        return {length: (session.id, session.log.head) for length, session in pairs}


class _Asked:
    """Subscriber that waits for the first confirmation of a session."""

    def __init__(self, session: Session) -> None:
        self.first: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._log = session.log
        session.log.subscribers.add(self)

    def deliver(self, session_id: str, frame: Frame) -> None:
        if b'"type":"tool_confirmation_request"' in frame.body[:60]:
            self._log.subscribers.discard(self)
            self.first.set_result(json.loads(frame.body))


class _Answerer:
    """Answers the one confirmation of a session."""

    def __init__(self, service: ComposedService, session: Session, *, declines: bool) -> None:
        self._confirmations = service.runtime.confirmations
        self._option = DECLINE if declines else APPROVE_ONCE
        self._approver = Approver(session.user_id)
        self._task = asyncio.create_task(self._answer(_Asked(session)))

    async def done(self) -> None:
        """Wait until the answer is stored."""
        await self._task

    async def _answer(self, asked: _Asked) -> None:
        request = await asked.first
        reply = ConfirmationReply(self._option, request["digest"])
        await self._confirmations.answer(request["confirmation_id"], reply, self._approver)


async def _call(service: ComposedService, session: Session, calls: Sequence[Any]) -> None:
    """Run direct calls as a client of the REST API does."""
    run = await service.runs.call_tools(
        session,
        calls,
        caller="rest",
        trigger="rest",
        attended=False,
        quota_subject=QuotaSubject(user_id=session.user_id),
    )
    await _must_succeed(run)


async def _must_succeed(run: Run) -> None:
    status = await run.done
    failed = [item.text for item in run.outcomes if item.status != "success"]
    if status != "success" or failed:
        raise RuntimeError(f"run {run.id} ended as {status}: {failed}")
