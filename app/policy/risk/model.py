"""The values that a risk assessment is made of.

Those that are made by the hundred for a script are named tuples: a frozen dataclass takes
twice the time to make.
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
    """One reason. `segment` indexes `RiskReport.segments`; None means the command as a whole."""

    code: str
    segment: int | None
    why: str
    level: RiskLevel
    verdict: Verdict


class Segment(NamedTuple):
    """One command that would run, also when nested in wrappers, substitutions or scripts.

    Attributes:
        argv: every word as the command would get it; None for a word that is not known
            before the command runs.
        cwd: None when the working directory is not known there.
        wraps: does nothing itself but run commands that are segments of their own, as the
            same user on the same host (`env`, `timeout`, `bash -c`, `xargs`). A rule that
            allows need not name it. What changes user, root or host (`sudo`, `chroot`,
            `ssh`, `docker`) or acts by itself (`find`, `git`) is never a wrapper here.
    """

    argv: tuple[str | None, ...]
    text: str
    cwd: str | None
    wraps: bool = False


class FileRun(NamedTuple):
    """A file that a command runs or obeys, or files where `path` holds a glob.

    Attributes:
        kind: the language that it is run as; "program": by what its first line or its name says;
            "tests": a folder or file of tests; "read": a rule reads it by itself;
            "copied": its text goes to another file; the others are named after the file.
    """

    path: str
    kind: str


class Given(NamedTuple):
    """The present content of a file that a session of this workspace wrote.

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
    """The worst of all findings, and what they were found in.

    Attributes:
        resolved_targets: absolute paths that deleting commands would hit.
        opaque: something runs that is not in `segments`: a command word, a script or a
            program that cannot be read before it runs. An answer about this command must
            not be kept for later ones. A None among the arguments does not set it.
        written: absolute paths of files that the script writes by itself: by redirections, `tee`,
            `cp` and their like; not what its programs write.
        emptied: absolute paths that are left without what they held, if a file is there: emptied,
            or replaced by one that is moved over it.
        opened: absolute paths that redirections and program texts open, as far as they tell.
        runs: files that decide what its commands do; no file of them is opened.
        judged: those whose content was handed in and counts here: path and digest.
        own_programs: the script says itself where programs are looked up (`PATH`), so that
            the name of a command does not tell which program it is.
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
"""Findings that say: what runs is not among the segments."""

NOTHING_FOUND = RiskReport(Verdict.ALLOW, RiskLevel.LOW, (), (), ())
