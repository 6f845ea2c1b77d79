"""Findings of an assessment so far, and its report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.policy.risk.answers import quoted
from app.policy.risk.call import SECRET, UNKNOWN, RuleMatch, ask
from app.policy.risk.model import (
    OPAQUE_CODES,
    CommandFinding,
    Given,
    RiskLevel,
    RiskReport,
    Segment,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Unreadable

ANY_HOME = "/home/~"
"""Placeholder for an unknown home directory."""
MAX_SEGMENTS = 1_500
MAX_OPENED = 500
MAX_EMPTIED = 50
MAX_WALKED = 2_250
"""Maximum assessed commands, with repeated ones counted again."""
_PLAIN_WORDS = re.compile(r"[\w@%+=:,./-]+(?>(?: [\w@%+=:,./-]+)*)", re.ASCII)
_Found = tuple[str, int | None, str, RiskLevel, Verdict]
"""What a `CommandFinding` is made of."""


@dataclass(slots=True)
class CollectedCommand:
    """Visited command. Its segment is created once it is certain to be reported.

    A cached one (`known`) is never changed, except for `made`.
    """

    argv: tuple[str, ...]
    cwd: str | None
    wraps: bool = False
    made: Segment | None = None


_ENDING = frozenset(["kill", "docker", "podman"])
_LISTING = frozenset(["pgrep", "pidof", "ps"])
_BY_NAME = "kill ends every process with a matching name"


class Collected:
    """Segments, findings and targets, in order of the walk.

    Attributes:
        origins: files being assessed, innermost last.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.segments: list[CollectedCommand] = []
        self.findings: dict[_Found, None] = {}
        self.targets: dict[str, None] = {}
        self.emptied: dict[str, None] = {}
        self.walked = 0
        self.kept = 0
        self.own_programs = False
        self.contained = False
        self.opened: dict[str, None] = {}
        self.origins: tuple[Given, ...] = ()

    def report(self) -> RiskReport:
        findings = tuple(
            [
                CommandFinding(code, segment, why, level, verdict)
                for code, segment, why, level, verdict in self.findings
            ]
        )
        return RiskReport(
            verdict=worst_verdict([finding.verdict for finding in findings]),
            risk=worst_level([finding.level for finding in findings]),
            segments=tuple([met.made or _segment(met) for met in self.segments]),
            findings=findings,
            resolved_targets=tuple(self.targets),
            emptied=tuple(self.emptied),
            own_programs=self.own_programs,
            opened=tuple(self.opened),
            opaque=not OPAQUE_CODES.isdisjoint([finding.code for finding in findings]),
        )

    def found(self, hit: RuleMatch, segment: int | None) -> None:
        verdict, level = hit.verdict, hit.level
        if self.contained and verdict is Verdict.DENY:
            verdict, level = Verdict.ASK, RiskLevel.HIGH
        self.findings[hit.code, segment, _shown(hit.why), level, verdict] = None
        for target in hit.targets:
            self.targets[_shown(target)] = None

    def empties(self, path: str) -> None:
        """Record that the file at an absolute path loses its content, if it exists."""
        if UNKNOWN not in path and len(self.emptied) < MAX_EMPTIED and path != "/dev/null":
            self.emptied[path] = None

    def opens(self, path: str) -> None:
        """Record that the file at an absolute path is read or written."""
        if UNKNOWN not in path and len(self.opened) < MAX_OPENED and path != "/dev/null":
            self.opened[path.replace(ANY_HOME, "~", 1)] = None

    def segment(
        self, argv: list[str], scope: ShellScope, met: CollectedCommand | None = None
    ) -> int:
        self.walked += 1
        at = len(self.segments)
        if at >= MAX_SEGMENTS or self.walked > MAX_WALKED:
            raise Unreadable(f"more than {MAX_SEGMENTS} commands")
        self.segments.append(met or CollectedCommand(tuple(argv), scope.cwd))
        if argv[0] in _ENDING and UNKNOWN in argv[-1]:
            self._ends_what_is_listed(argv, at)
        return at

    def _ends_what_is_listed(self, argv: list[str], at: int) -> None:
        """Treat `kill $(pgrep x)` and `pgrep x | xargs kill` like `pkill x`."""
        before = [met.argv for met in self.segments[max(0, at - 3) : at]]
        if argv[0] == "kill":
            listed = any(words[0] in _LISTING for words in before) and "-0" not in argv
            hit = ask("kill_by_name", _BY_NAME, RiskLevel.MEDIUM)
        else:
            listed = argv[1:2] in (["kill"], ["stop"]) and any(
                words[:2] == (argv[0], "ps") for words in before
            )
            hit = ask("service", f"{argv[0]} {argv[1]} ends every container listed")
        if listed:
            self.found(hit, at)

    def tentatively(self, walk: Callable[[], object], *, certain: bool = False) -> None:
        """Keep additions of `walk` to the report only if it finds something new, or has a call that
        alone determines a function (`kept`).

        Args:
            certain: the commands are certain, so unvisited ones count as new.
        """
        segments, findings, targets = len(self.segments), len(self.findings), len(self.targets)
        kept = self.kept
        walk()
        if self.kept != kept or (certain and self._met_more(segments)):
            return
        if len(self.findings) > findings:
            every = [(code, why, verdict) for code, _, why, _, verdict in self.findings]
            if not set(every[:findings]).issuperset(every[findings:]):
                return
        del self.segments[segments:]
        _shorten(self.findings, findings)
        _shorten(self.targets, targets)

    def _met_more(self, before: int) -> bool:
        """Return whether a command was visited that is not among the first `before`."""
        known = {met.argv for met in self.segments[:before]}
        return any(met.argv not in known for met in self.segments[before:])


def _shown(text: str) -> str:
    """Return `text` for people: an unknown home becomes `~`, unknown text `…`."""
    if UNKNOWN not in text and "~" not in text:
        return text
    return text.replace(ANY_HOME, "~").replace(SECRET, "…").replace(UNKNOWN, "…")


def _shorten(kept: dict[Any, None], length: int) -> None:
    while len(kept) > length:
        kept.popitem()


def _segment(met: CollectedCommand) -> Segment:
    met.made = _made(met)
    return met.made


def _made(met: CollectedCommand) -> Segment:
    argv = met.argv
    text = " ".join(argv)
    if ANY_HOME in text:
        argv = tuple([word.replace(ANY_HOME, "~") for word in argv])
    elif _PLAIN_WORDS.fullmatch(text):
        return Segment(argv, text, met.cwd, met.wraps)
    if UNKNOWN not in text:
        return Segment(argv, " ".join(map(quoted, argv)), met.cwd, met.wraps)
    words = tuple([None if UNKNOWN in word else word for word in argv])
    text = " ".join(["…" if word is None else quoted(word) for word in words])
    return Segment(words, text, met.cwd, met.wraps)
