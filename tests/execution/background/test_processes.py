"""Who may keep how many processes, and when they are ended and forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.clock import SystemClock
from app.core.errors import ToolFailed
from app.core.redaction import Redactor
from app.domain.processes import ProcessRequest, ShellState
from app.execution.background.process import OwnedProcess
from app.execution.background.processes import ProcessBounds, Processes
from app.execution.background.states import SessionShells
from app.operations.protocols.processes import ProcessChunk, ProcessExit, ProcessSpec
from tests.tools.shell.scripted import ScriptedProcess, ScriptedProcesses

PATIENCE_S = 60
SPEC = ProcessSpec(("true",))
HANGING: dict[str, Any] = {"hangs": True}


class StillClock(SystemClock):
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def _request(session_id: str = "ses_1") -> ProcessRequest:
    return ProcessRequest(session_id, "op_1", "make", SPEC)


def _hanging() -> ScriptedProcesses:
    return ScriptedProcesses(ScriptedProcess(**HANGING))


def _ending(*chunks: bytes, code: int = 0) -> ScriptedProcesses:
    pieces = tuple(ProcessChunk("stdout", chunk) for chunk in chunks)
    return ScriptedProcesses(ScriptedProcess(pieces, code=code))


@asynccontextmanager
async def _processes(
    folder: Path, bounds: ProcessBounds | None = None, **more: Any
) -> AsyncIterator[Processes]:
    clock = more.pop("clock", None) or SystemClock()
    made = Processes(folder, Redactor(), clock, bounds, **more)
    async with asyncio.timeout(PATIENCE_S):
        yield made
        await made.close()


async def test_each_session_and_the_service_may_keep_so_many_at_once(tmp_path):
    async with _processes(tmp_path, ProcessBounds(running_per_session=2, running=3)) as background:
        for session_id in ("ses_1", "ses_1", "ses_2"):
            await background.background(_request(session_id), _hanging())
        codes = []
        for session_id in ("ses_1", "ses_2"):
            with pytest.raises(ToolFailed) as refused:
                await background.background(_request(session_id), _hanging())
            codes.append((refused.value.details["code"], refused.value.message.split(";")[0]))
        first = background.of("ses_1")[0]
        await first.kill()
        await background.background(_request("ses_1"), _hanging())
    assert codes == [
        ("too_many_processes", "This session has reached its maximum of 2 background processes"),
        ("too_many_processes", "The service has reached its maximum of 3 background processes"),
    ]


async def test_those_that_ended_are_forgotten_by_number_and_by_age(tmp_path):
    clock = StillClock()
    bounds = ProcessBounds(ended_per_session=2, ended_s=60)
    async with _processes(tmp_path, bounds, clock=clock) as background:
        ids = []
        for _ in range(3):
            process = await background.background(_request(), _ending(b"x"))
            await process.wait()
            ids.append(process.id)
            clock.now_s += 1
        assert [process.id for process in background.of("ses_1")] == ids[1:]
        clock.now_s += 58.5
        assert [process.id for process in background.of("ses_1")] == ids[2:]
        with pytest.raises(ToolFailed, match="not found in this session"):
            background.find("ses_1", ids[0])


async def test_what_cannot_be_started_is_not_kept_nor_announced(tmp_path):
    class Broken:
        @asynccontextmanager
        async def open(self, spec: ProcessSpec) -> AsyncIterator[Any]:
            if spec.argv:
                raise ToolFailed("no such program", code="program_not_found")
            yield spec

    reported: list[OwnedProcess] = []
    async with _processes(
        tmp_path, on_kept=reported.append, on_ended=reported.append
    ) as background:
        with pytest.raises(ToolFailed, match="no such program"):
            await background.background(_request(), Broken())
        assert (list(background.of("ses_1")), reported) == ([], [])


async def test_each_kept_process_is_announced_once_and_its_end_once(tmp_path):
    reported: list[tuple[str, str]] = []
    async with _processes(
        tmp_path,
        on_kept=lambda process: reported.append(("kept", process.id)),
        on_ended=lambda process: reported.append(("ended", process.id)),
    ) as background:
        process = await background.background(_request(), _hanging())
        await process.kill()
        await process.kill()
        async with background.foreground(_request(), _ending(b"x")) as front:
            assert await front.next_output() is not None
            assert await front.next_output() is None
    assert reported == [("kept", process.id), ("ended", process.id)]


async def test_a_process_of_the_foreground_ends_with_its_call_unless_it_is_kept(tmp_path):
    left, kept = _hanging(), _hanging()
    async with _processes(tmp_path) as background:
        async with background.foreground(_request(), left) as process:
            pass
        assert process.exit is not None
        async with background.foreground(_request(), kept) as process:
            background.keep(process)
        assert process.exit is None
        assert background.find("ses_1", process.id) is process
    assert kept.process.killed.is_set()


async def test_a_call_that_is_cancelled_twice_leaves_nothing_open(tmp_path):
    class Stubborn(ScriptedProcess):
        async def kill(self) -> None:
            dying.set()
            await released.wait()
            await super().kill()

    begun, dying, released = asyncio.Event(), asyncio.Event(), asyncio.Event()
    owned: list[Any] = []
    stubborn = ScriptedProcesses(Stubborn(**HANGING))

    async def follow(background: Processes) -> None:
        async with background.foreground(_request(), stubborn) as process:
            owned.append(process)
            begun.set()
            await process.next_output()

    async with _processes(tmp_path) as background:
        following = asyncio.create_task(follow(background))
        await begun.wait()
        closed: list[bool] = []
        owned[0].close = lambda: closed.append(owned[0].exit is not None)
        following.cancel()
        await dying.wait()
        following.cancel()
        await asyncio.sleep(0)
        assert not following.done()
        released.set()
        await asyncio.wait({following})
    assert following.cancelled()
    assert closed == [True]


async def test_the_program_waits_while_nobody_takes_its_output(tmp_path):
    scripted = _ending(*(b"%d " % number for number in range(100)))
    async with (
        _processes(tmp_path) as background,
        background.foreground(_request(), scripted) as process,
    ):
        for _ in range(50):
            await asyncio.sleep(0)
        assert process.size < 100
        process.unfollow()
        await process.wait()
        assert process.size == len(b"".join(b"%d " % number for number in range(100)))


async def test_a_start_that_is_cancelled_leaves_nothing(tmp_path):
    entered, left = asyncio.Event(), asyncio.Event()

    class Slow:
        @asynccontextmanager
        async def open(self, spec: ProcessSpec) -> AsyncIterator[Any]:
            entered.set()
            try:
                await asyncio.Event().wait()
                yield spec
            finally:
                left.set()

    async with _processes(tmp_path) as background:
        starting = asyncio.create_task(background.background(_request(), Slow()))
        await entered.wait()
        starting.cancel()
        await asyncio.wait({starting})
        assert starting.cancelled()
        assert (left.is_set(), list(background.of("ses_1"))) == (True, [])


async def test_a_service_that_stops_ends_what_is_starting_and_starts_nothing_more(tmp_path):
    entered = asyncio.Event()

    class Slow:
        @asynccontextmanager
        async def open(self, spec: ProcessSpec) -> AsyncIterator[Any]:
            entered.set()
            await asyncio.Event().wait()
            yield spec

    async with _processes(tmp_path) as background:
        starting = asyncio.create_task(background.background(_request(), Slow()))
        await entered.wait()
        await background.close()
        with pytest.raises(ToolFailed, match="stopping"):
            await starting
        with pytest.raises(ToolFailed, match="stopping"):
            await background.background(_request(), _hanging())


async def test_a_process_whose_operations_break_is_lost_and_does_not_hang(tmp_path, caplog):
    class Breaking(ScriptedProcess):
        async def wait(self) -> ProcessExit:
            raise RuntimeError("gone")

    async with _processes(tmp_path) as background:
        process = await background.background(_request(), ScriptedProcesses(Breaking()))
        assert (await process.wait()).reason == "lost"
    assert "was lost" in caplog.text


@given(text=st.text(min_size=1, max_size=60), limit=st.integers(4, 20))
@settings(max_examples=40, deadline=None)
def test_pages_hold_whole_characters_and_together_everything(tmp_path_factory, text, limit):
    encoded = text.encode("utf-8", "replace")

    async def paged() -> str:
        async with _processes(tmp_path_factory.mktemp("pages")) as background:
            process = await background.background(_request(), _ending(encoded))
            await process.wait()
            pages, offset = "", 0
            while offset < process.size:
                page = await process.read(offset, limit)
                assert page.start == offset
                pages, offset = pages + page.text, page.end
            middle = await process.read(process.size // 2, limit)
            assert middle.text in encoded.decode()
            return pages

    assert asyncio.run(paged()) == encoded.decode()


def test_the_shells_of_the_sessions_used_least_are_forgotten():
    shells = SessionShells(max_kept=2)
    for name in ("a", "b"):
        shells.put(name, None, ShellState(f"/{name}"))
    shells.get("a", None)
    shells.put("c", None, ShellState("/c"))
    shells.put(None, None, ShellState("/nobody"))
    found = [shells.get(name, None).cwd for name in ("a", "b", "c", None)]
    assert found == ["/a", None, "/c", None]
    assert shells.get("a", "another project") == ShellState()
