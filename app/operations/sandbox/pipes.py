"""Both ends of a job's descriptors."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from app.operations.local.failures import failure
from app.operations.local.piped_process import Pipes
from app.operations.local.terminal import open_terminal
from app.operations.protocols.processes import Terminal


@dataclass(slots=True)
class JobPipes:
    """Descriptors of one job; none of them blocks.

    Attributes:
        theirs: descriptors to send, in wire order, closed once sent.
        ours: our ends of input and output.
        status, leash: as on the wire; ours.
        work: pipe for the work of a parked payload.
        report: pipe of Python's report.
    """

    theirs: list[int] = field(default_factory=list)
    ours: Pipes = field(default_factory=lambda: Pipes(-1, -1, -1))
    status: int = -1
    leash: int = -1
    work: int = -1
    report: int = -1

    def close_theirs(self) -> None:
        while self.theirs:
            os.close(self.theirs.pop())


def open_pipes(
    *,
    has_input: bool = False,
    terminal: Terminal | None = None,
    parked: bool = False,
    python: bool = False,
) -> JobPipes:
    """Open the descriptors of a job.

    Raises:
        StorageUnavailable, ToolFailed: descriptors or terminals have run out.
    """
    opened: list[int] = []
    try:
        return _open(opened, has_input=has_input, terminal=terminal, parked=parked, python=python)
    except OSError as error:
        for descriptor in opened:
            os.close(descriptor)
        raise failure(error, "pipe") from None


def _open(
    opened: list[int], *, has_input: bool, terminal: Terminal | None, parked: bool, python: bool
) -> JobPipes:
    def ours_read() -> tuple[int, int]:
        ends = os.pipe()
        opened.extend(ends)
        return ends

    def ours_write() -> tuple[int, int]:
        theirs, ours = ours_read()
        return ours, theirs

    pipes = JobPipes()
    if terminal is not None:
        pipes.ours = _on_terminal(pipes, terminal, opened)
    else:
        stdin, their_stdin = ours_write() if has_input else _no_input(opened)
        stdout, their_stdout = ours_read()
        stderr, their_stderr = ours_read()
        pipes.ours = Pipes(stdin, stdout, stderr)
        pipes.theirs = [their_stdin, their_stdout, their_stderr]
    pipes.status = _add(pipes, ours_read)
    pipes.leash = _add(pipes, ours_write)
    if parked:
        pipes.work = _add(pipes, ours_write)
    if python:
        pipes.report = _add(pipes, ours_read)
    return pipes


def _add(pipes: JobPipes, open_ends: Callable[[], tuple[int, int]]) -> int:
    ours, theirs = open_ends()
    pipes.theirs.append(theirs)
    return ours


def _no_input(opened: list[int]) -> tuple[int, int]:
    opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    return -1, opened[-1]


def _on_terminal(pipes: JobPipes, terminal: Terminal, opened: list[int]) -> Pipes:
    ours, theirs, _ = open_terminal(terminal)
    opened.extend((ours, theirs))
    for _ in range(3):
        opened.append(os.dup(theirs))
        pipes.theirs.append(opened[-1])
    os.close(theirs)
    opened.remove(theirs)
    opened.append(os.dup(ours))
    return Pipes(ours, opened[-1], None)
