"""The values that a risk assessment is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

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
    return max(levels, key=_LEVELS.index, default=RiskLevel.LOW)


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=_VERDICTS.index, default=Verdict.ALLOW)


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason. `segment` indexes `RiskReport.segments`; None means the command as a whole."""

    code: str
    segment: int | None
    why: str
    level: RiskLevel
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Segment:
    """One command that would run, also when nested in wrappers, substitutions or scripts.

    `argv` holds None for a word that is not known before the command runs; `cwd` is None
    when the working directory is not known there.
    """

    argv: tuple[str | None, ...]
    text: str
    cwd: str | None


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The worst of all findings, and what they were found in.

    `resolved_targets` are the absolute paths that deleting commands would hit.
    """

    verdict: Verdict
    risk: RiskLevel
    segments: tuple[Segment, ...]
    findings: tuple[Finding, ...]
    resolved_targets: tuple[str, ...]
