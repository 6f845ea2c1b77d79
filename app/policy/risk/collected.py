"""What an assessment has found so far, and the report that is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.policy.risk.answers import quoted
from app.policy.risk.call import UNKNOWN, Hit
from app.policy.risk.model import (
    OPAQUE_CODES,
    Finding,
    RiskLevel,
    RiskReport,
    Segment,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.risk.scope import Scope
from app.policy.risk.syntax import Unreadable

ANY_HOME = "/home/~"
"""Stands for a home directory whose place is not given."""
MAX_SEGMENTS = 1_500
MAX_WALKED = 2 * MAX_SEGMENTS
"""Commands judged at most, those counted twice that are judged with other values again."""
_PLAIN_WORDS = re.compile(r"[\w@%+=:,./-]+(?: [\w@%+=:,./-]+)*+", re.ASCII)


class Collected:
    """Segments, findings and targets, in the order in which they were met."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.segments: list[Segment] = []
        self.findings: list[Finding] = []
        self.seen: set[Finding] = set()
        self.targets: dict[str, None] = {}
        self.walked = 0
        self.contained = False

    def report(self) -> RiskReport:
        return RiskReport(
            verdict=worst_verdict(finding.verdict for finding in self.findings),
            risk=worst_level(finding.level for finding in self.findings),
            segments=tuple(self.segments),
            findings=tuple(self.findings),
            resolved_targets=tuple(self.targets),
            opaque=any(finding.code in OPAQUE_CODES for finding in self.findings),
        )

    def found(self, hit: Hit, segment: int | None) -> None:
        verdict, level = hit.verdict, hit.level
        if self.contained and verdict is Verdict.DENY:
            verdict, level = Verdict.ASK, RiskLevel.HIGH
        finding = Finding(hit.code, segment, hit.why.replace(ANY_HOME, "~"), level, verdict)
        known = len(self.seen)
        self.seen.add(finding)
        if len(self.seen) > known:
            self.findings.append(finding)
        for target in hit.targets:
            self.targets[target.replace(ANY_HOME, "~")] = None

    def segment(self, argv: list[str], scope: Scope) -> int:
        self.walked += 1
        if len(self.segments) >= MAX_SEGMENTS or self.walked > MAX_WALKED:
            raise Unreadable(f"more than {MAX_SEGMENTS} commands")
        text = " ".join(argv)
        words: tuple[str | None, ...] = tuple(argv)
        if not _PLAIN_WORDS.fullmatch(text) or ANY_HOME in text:
            words = tuple(None if UNKNOWN in word else word.replace(ANY_HOME, "~") for word in argv)
            text = " ".join("…" if word is None else quoted(word) for word in words)
        self.segments.append(Segment(words, text, scope.cwd))
        return len(self.segments) - 1

    def tentatively(self, walk: Callable[[], object]) -> None:
        """Keep what `walk` adds to the report only if it finds something new."""
        segments, findings, targets = len(self.segments), len(self.findings), len(self.targets)
        walk()
        known = {(found.code, found.why, found.verdict) for found in self.findings[:findings]}
        fresh = self.findings[findings:]
        if all((found.code, found.why, found.verdict) in known for found in fresh):
            self.seen.difference_update(fresh)
            del self.segments[segments:], self.findings[findings:]
            for target in list(self.targets)[targets:]:
                del self.targets[target]
