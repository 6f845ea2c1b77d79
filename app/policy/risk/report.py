"""Risk reports as JSON for command line, REST and events."""

from __future__ import annotations

from typing import Any

from app.policy.risk.model import RiskReport, Verdict

VERDICT_NAMES = {Verdict.ALLOW: "safe", Verdict.ASK: "ask", Verdict.DENY: "deny"}


def report_json(report: RiskReport) -> dict[str, Any]:
    """Return `{verdict, risk, segments, findings, resolved_targets}`; the verdict `allow` is
    "safe".
    """
    return {
        "verdict": VERDICT_NAMES[report.verdict],
        "risk": report.risk.value,
        "segments": [
            {"argv": list(segment.argv), "text": segment.text, "cwd": segment.cwd}
            for segment in report.segments
        ],
        "findings": [
            {"code": finding.code, "segment": finding.segment, "why": finding.why}
            for finding in report.findings
        ],
        "resolved_targets": list(report.resolved_targets),
    }
