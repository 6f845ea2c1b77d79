"""Files run by other programs that the project's owner allows to be written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from app.policy.risk.collected import ANY_HOME
from app.policy.risk.model import CommandFinding, RiskReport, worst_level, worst_verdict
from app.policy.risk.paths import protected_write

_CODES = frozenset({"git_code", "runs_later", "startup_file"})
_WRITES = re.compile(r"writes (.+), which .+", re.DOTALL)


def without_released(report: RiskReport, is_released: Callable[[str], bool]) -> RiskReport:
    """Return the report without questions about files that the project releases."""
    findings = tuple(found for found in report.findings if not _is_free(found, is_released))
    if len(findings) == len(report.findings):
        return report
    return replace(
        report,
        findings=findings,
        verdict=worst_verdict([found.verdict for found in findings]),
        risk=worst_level([found.level for found in findings]),
    )


def _is_free(found: CommandFinding, is_released: Callable[[str], bool]) -> bool:
    if found.code not in _CODES:
        return False
    named = _WRITES.fullmatch(found.why)
    if named is None or not is_released(named[1]):
        return False
    # The reason contains the path. It is certainly the only one if evaluating again gives the same
    # reason.
    hit = protected_write(named[1], ANY_HOME)
    return hit is not None and hit.why == found.why
