"""An attempt to get out of the sandbox, and what it may leave to be judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.operations.protocols.sandbox import Level
from tests.escape.sightings import Sightings
from tests.escape.world import World

Category = Literal[
    "introspection",
    "secrets",
    "paths",
    "network",
    "hosts",
    "processes",
    "survivors",
    "resources",
    "kernel",
]
BEGUN = "the attempt has begun"  # its first line prints it
EVERY_LEVEL: tuple[Level, ...] = ("strict", "standard", "lenient", "bash")
PYTHON_LEVELS: tuple[Level, ...] = ("strict", "standard", "lenient")
FORKING_LEVELS: tuple[Level, ...] = ("lenient", "bash")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use; where a level has limits of its own, those count.

    Attributes:
        wall_s: seconds until the run must be over.
        output_bytes: what may be delivered of its output.
        hold_s: how long an attempt keeps what it got.
    """

    wall_s: float = 5.0
    memory_bytes: int = 256 << 20
    disk_bytes: int = 48 << 20
    file_bytes: int = 32 << 20
    processes: int = 64
    open_files: int = 512
    files: int = 50_000
    output_bytes: int = 64 << 20
    hold_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the one who ran it got back.

    Attributes:
        stdout, stderr: the beginning of each; `delivered` counts all of it.
        value: the value of the last expression, where there is one.
        files: contents of the files it handed over.
        fault: what went wrong in the runner itself, which nothing inside may cause.
        reason: why it ended, as the runner says.
        wall_s: seconds it took from its start, without what came before that.
        overran: whether it had to be given up because its limit did not end it.
        unknown: why it was not started at all, so that nothing is known about it.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    delivered: int = 0
    value: str | None = None
    files: tuple[bytes, ...] = ()
    fault: str | None = None
    reason: str = "exited"
    wall_s: float = 0.0
    overran: bool = False
    unknown: str | None = None

    @property
    def begun(self) -> bool:
        """Whether it came to its first line."""
        return BEGUN.encode() in self.stdout

    @property
    def said(self) -> bytes:
        """Everything that came out of it."""
        return b"\0".join((self.stdout, self.stderr, (self.value or "").encode(), *self.files))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one run, from outside.

    Attributes:
        usual_namespaces: what a harmless run of the level has, as `Sightings.namespaces`.
    """

    world: World
    outcome: Outcome
    sightings: Sightings
    limits: Limits
    usual_namespaces: Mapping[str, int]


Judge = Callable[[Evidence], str | None]  # what happened, or None when nothing did


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try.

    Attributes:
        harm: the judge that finds the harm it is after; in the sandbox every judge is asked.
        shell: the source is for bash; otherwise it is Python, and runs at `bash` level as an
            ordinary program.
        raw: as Python of the level, it gets no help to regain the builtins taken from it.
        levels: where it is tried.
        limits: what it may use.
        unseen: why it cannot be shown to succeed without a sandbox on every machine.
        begins: False for a source that is not meant to get as far as its first line.
        terminal: runs on a terminal of its own.
        again: something harmless runs in the same workspace afterwards.
        tight: in a sandbox whose most is little memory and disk, and few files, so that using
            them up costs little.
        then: a source that runs afterwards as somebody else's, and is judged; the first one
            is told a secret, `FIRST`, that this one must not learn.
    """

    name: str
    category: Category
    source: str
    harm: Judge
    shell: bool = False
    raw: bool = False
    levels: tuple[Level, ...] = EVERY_LEVEL
    limits: Limits = field(default_factory=Limits)
    unseen: str | None = None
    begins: bool = True
    terminal: bool = False
    again: bool = False
    tight: bool = False
    then: str | None = None

    @property
    def holds(self) -> bool:
        """Whether it is only seen in the `HOLD` seconds for which it keeps what it got."""
        return "HOLD" in self.source and self.category != "resources"

    @property
    def slow(self) -> bool:
        """Whether it takes long where nothing ends it."""
        return self.category in ("survivors", "resources")

    def at(self) -> tuple[Level, ...]:
        """The levels that can run its language."""
        return ("bash",) if self.shell else self.levels
