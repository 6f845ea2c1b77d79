"""A program that a limit ends is an error; one that printed too much is cut short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.core.errors import ToolFailed
from app.operations.protocols.processes import ProcessChunk, ProcessExit
from app.tools.dev.program_run import Program, run


class Ended:
    """Processes of which each prints `pieces` and ends for `reason`."""

    def __init__(self, reason: str, *pieces: bytes) -> None:
        fields: dict[str, Any] = {"code": int(reason != "exited"), "reason": reason}
        self._exit = ProcessExit(**fields)
        self._pieces = pieces
        self.killed = False

    @asynccontextmanager
    async def open(self, _: Any) -> AsyncIterator[Any]:
        yield self

    async def output(self) -> AsyncIterator[ProcessChunk]:
        for piece in self._pieces:
            yield ProcessChunk("stdout", piece)

    async def wait(self) -> ProcessExit:
        return self._exit

    async def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize(
    ("reason", "code", "part"),
    [
        ("timeout", "timeout", "did not finish within 5 s"),
        ("disk_full", "disk_full", "stopped by the sandbox"),
        ("memory", "limit_reached", "stopped by the sandbox: memory"),
        ("lost", "limit_reached", "stopped by the sandbox: lost"),
    ],
)
async def test_a_limit_that_ended_the_program_is_named(reason: str, code: str, part: str):
    processes: Any = Ended(reason, b"half an answer")
    with pytest.raises(ToolFailed, match=part) as failed:
        await run(processes, Program(("/usr/bin/git", "log"), wall_s=5))
    assert failed.value.details["code"] == code
    assert failed.value.message.startswith("git ")


async def test_a_program_that_ends_by_itself_has_its_output():
    processes: Any = Ended("exited", b"one ", b"two")
    ended = await run(processes, Program(("git",)))
    assert (ended.text, ended.truncated, processes.killed) == ("one two", False, False)


async def test_a_program_that_prints_too_much_is_ended_and_its_output_kept():
    processes: Any = Ended("killed", b"12345", b"67890")
    ended = await run(processes, Program(("git",), max_bytes=7))
    assert (ended.text, ended.truncated, processes.killed) == ("1234567", True, True)
