"""Values of a risk assessment.

Values created by the hundred per script are named tuples: a frozen dataclass takes twice as long to
create.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

ShellName = Literal["bash", "powershell", "cmd"]


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Verdict(StrEnum):
    """`allow` runs without a question, `ask` needs a person, `deny` is refused in every mode."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_LEVELS = tuple(RiskLevel)
_VERDICTS = tuple(Verdict)


def worst_level(levels: Iterable[RiskLevel]) -> RiskLevel:
    return max(set(levels), key=_LEVELS.index, default=RiskLevel.LOW)


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    return max(set(verdicts), key=_VERDICTS.index, default=Verdict.ALLOW)


class CommandFinding(NamedTuple):
    """One reason. `segment` indexes `RiskReport.segments`; None means the whole command."""

    code: str
    segment: int | None
    why: str
    level: RiskLevel
    verdict: Verdict


class Segment(NamedTuple):
    """Command that would run, including those nested in wrappers, substitutions or scripts.

    Attributes:
        argv: every word as the command would receive it; None for a word unknown before it runs.
        cwd: None if the working directory is unknown.
        wraps: only runs commands that are separate segments, as the same user on the same host
            (`env`, `timeout`, `bash -c`, `xargs`). A rule that allows need not name it. Commands
            that change user, root or host (`sudo`, `chroot`, `ssh`, `docker`) or act themselves
            (`find`, `git`) are never wrappers.
    """

    argv: tuple[str | None, ...]
    text: str
    cwd: str | None
    wraps: bool = False


class FileRun(NamedTuple):
    """File that a command runs or reads as configuration, or files if `path` is a glob.

    Attributes:
        kind: language that it is run as; "program": determined by its first line or name; "tests":
            a folder or file of tests; "read": read by a rule; "copied": its text goes to another
            file; others are named after the file.
    """

    path: str
    kind: str


class Given(NamedTuple):
    """Present content of a file that a session of this workspace wrote.

    Attributes:
        by: the path of the `FileRun` that it comes with: its own, a pattern that fits it, or that
            of a program that imports it.
        text: None when it cannot be judged, and `why` says why.
        accepted: a person has let this very command run it with this content.
        is_data: a command reads it, beside what may run it.
    """

    path: str
    by: str
    text: str | None
    digest: str
    why: str = ""
    accepted: bool = False
    is_data: bool = False


@dataclass(frozen=True, slots=True)
class RiskReport:
    """Result of an assessment: the worst finding, and the assessed parts.

    Attributes:
        resolved_targets: absolute paths affected by deleting commands.
        opaque: something not in `segments` runs: a command word, script or program that is
            unreadable before it runs. An answer about this command must not be stored for later
            ones. A None among the arguments does not set it.
        written: absolute paths of files that the script itself writes, by redirections, `tee`, `cp`
            and similar; not those written by its programs.
        emptied: absolute paths that lose their content, if a file exists: emptied, or replaced by a
            moved one.
        opened: absolute paths that redirections and program texts open, if known.
        runs: files that determine its commands; they are not opened.
        judged: files with given content that was assessed: path and digest.
        own_programs: the script sets the lookup of programs (`PATH`), so a command's name does not
            identify its program.
    """

    verdict: Verdict
    risk: RiskLevel
    segments: tuple[Segment, ...]
    findings: tuple[CommandFinding, ...]
    resolved_targets: tuple[str, ...]
    opaque: bool = False
    own_programs: bool = False
    written: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    runs: tuple[FileRun, ...] = ()
    judged: tuple[tuple[str, str], ...] = ()


OPAQUE_CODES = frozenset(
    {
        "arithmetic_code",
        "code_danger",
        "deferred",
        "git_config",
        "loaded_code",
        "lookalike",
        "nested",
        "opaque_code",
        "remote_shell",
        "too_long",
        "unread_file",
        "unreadable",
        "unresolved_command",
    }
)
"""Findings that mean that something outside the segments runs."""

NOTHING_FOUND = RiskReport(Verdict.ALLOW, RiskLevel.LOW, (), (), ())
