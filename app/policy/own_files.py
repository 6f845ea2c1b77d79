"""Loss of files: only those created by the session need no approval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.policy.risk.model import (
    CommandFinding,
    RiskLevel,
    RiskReport,
    Segment,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.rules.coverage import leads_elsewhere
from app.policy.rules.globs import GLOBBED
from app.policy.rules.places import resolve

_DELETING = frozenset({"rm", "unlink"})
_MOST = 20


def without_own_deletions(report: RiskReport, is_own: Callable[[str], bool]) -> RiskReport:
    """Return the report without questions about files that the session may delete.

    Applies only without other findings: hidden or remote commands may change the meaning of a name.
    """
    findings = report.findings
    if not findings or any(found.code != "delete" for found in findings):
        return report
    if report.own_programs or not all(_is_free(report, found, is_own) for found in findings):
        return report
    return replace(
        report,
        findings=(),
        verdict=worst_verdict(()),
        risk=worst_level(()),
        resolved_targets=(),
    )


def with_losses(
    report: RiskReport, is_there: Callable[[str], bool], is_own: Callable[[str], bool]
) -> RiskReport:
    """Return the report with a question for each existing file that would be emptied or replaced.

    As for `rm`: the loss is permanent, and the session's own files need no approval.
    """
    lost = [path for path in report.emptied if is_there(path) and not is_own(path)]
    if not lost:
        return report
    found = [
        CommandFinding("delete", None, f"empties or replaces {path}", RiskLevel.MEDIUM, Verdict.ASK)
        for path in lost
    ]
    return replace(
        report,
        findings=(*report.findings, *found),
        verdict=worst_verdict((report.verdict, Verdict.ASK)),
        risk=worst_level((report.risk, RiskLevel.MEDIUM)),
        resolved_targets=tuple(dict.fromkeys((*report.resolved_targets, *lost))),
    )


def _is_free(report: RiskReport, found: CommandFinding, is_own: Callable[[str], bool]) -> bool:
    if found.segment is None:
        return False
    segments = report.segments
    # Its commands may run in another folder or as another user.
    named = {found.segment: ""}
    if any(s.wraps or leads_elsewhere(segments, at, named) for at, s in enumerate(segments)):
        return False
    targets = _targets(segments[found.segment])
    return bool(targets) and all(target is not None and is_own(target) for target in targets)


def _targets(segment: Segment) -> list[str | None]:
    """Return what a plain `rm` deletes; None for names not known before it runs."""
    name, *words = segment.argv or (None,)
    if name not in _DELETING or len(words) > _MOST:
        return []
    targets: list[str | None] = []
    for at, word in enumerate(words):
        if word == "--":
            return targets + [_path_of(segment, rest) for rest in words[at + 1 :]]
        if word is None or not word.startswith("-") or word == "-":
            targets.append(_path_of(segment, word))
    return targets


def _path_of(segment: Segment, word: str | None) -> str | None:
    if word is None or word.startswith("~") or GLOBBED.search(word):
        return None
    return resolve(word, segment.cwd)
