"""What policy says about one call: a value, made once, by a pure function.

Precedence: deny > ask > allow. The floor stands above everything an operator or a
client may say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.policy.risk.engine import assess_command
from app.policy.risk.model import (
    Finding,
    RiskReport,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.self_protection import SelfProtection
from app.toolkit.tool import Tool

RiskName = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one call and everything that led to it.

    Attributes:
        reason: one sentence for a person and for the model.
        rule_ids: machine codes of what spoke, strongest first.
        findings: what the risk analysis saw; the built-in hook asks because of them.
        asks: a flag (tool's or operator's) demands a confirmation, findings or not.
        resolved_targets: paths or URLs the call would reach, as far as they are known.
    """

    verdict: Verdict
    reason: str = ""
    rule_ids: tuple[str, ...] = ()
    risk: RiskName = "low"
    findings: tuple[Finding, ...] = ()
    asks: bool = False
    resolved_targets: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """The JSON kept with the call's record."""
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "rule_ids": list(self.rule_ids),
            "risk": self.risk,
        }


ALLOW = Decision(Verdict.ALLOW)


def decide(
    tool: Tool,
    arguments: Any,
    *,
    requires_confirmation: bool,
    cwd: str = "/workspace",
    protection: SelfProtection | None = None,
) -> Decision:
    """Judge one call from its validated arguments.

    Args:
        arguments: validated arguments model, or a dict for tools with a raw schema.
        requires_confirmation: the effective flag (operator's, else the tool's).
        cwd: where a shell command would run.
        protection: knows the names of the service that a command must not touch unasked.
    """
    if tool.shell is None:
        if not requires_confirmation:
            return ALLOW
        return Decision(
            Verdict.ASK, f"{tool.name} asks before it runs", ("requires_confirmation",), asks=True
        )
    command = _command(arguments)
    report = assess_command(command, shell=tool.shell, cwd=cwd)
    found = protection.finding(command) if protection else None
    if found is not None:
        report = replace(
            report,
            verdict=worst_verdict((report.verdict, found.verdict)),
            risk=worst_level((report.risk, found.level)),
            findings=(*report.findings, found),
        )
    return _from_report(report, flagged=requires_confirmation, tool=tool)


def _command(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return str(arguments.get("command", ""))
    return str(getattr(arguments, "command", ""))


def _from_report(report: RiskReport, *, flagged: bool, tool: Tool) -> Decision:
    findings = tuple(report.findings)
    codes = tuple(dict.fromkeys(finding.code for finding in findings))
    reason = "; ".join(dict.fromkeys(finding.why for finding in findings))
    risk: RiskName = report.risk.value
    if report.verdict is Verdict.ALLOW and not flagged:
        return ALLOW
    if report.verdict is Verdict.ALLOW:
        return Decision(
            Verdict.ASK, f"{tool.name} asks before it runs", ("requires_confirmation",), asks=True
        )
    return Decision(
        report.verdict, reason, codes, risk, findings, flagged, tuple(report.resolved_targets)
    )
