"""Decision of the policy about one call, created by `app.policy.evaluator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.policy.risk.model import CommandFinding, Segment, Verdict

RiskName = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Verdict on one call, with its reasons.

    Attributes:
        reason: one sentence for a person and for the model.
        rule_ids: machine codes of the reasons, strongest first.
        findings: unreleased findings that ask or deny; the built-in hook asks for them.
        asks: a flag or rule requires approval, regardless of hooks.
        resolved_targets: paths or URLs the call would reach, if known.
        segments: commands that a shell would run.
        floor: denied by the floor, which no rule, grant or mode overrides.
        opaque: something not in `segments` would run.
        grant_id: standing approval that released the call.
        covered_by: rules that allowed what would have asked.
        released: findings that a grant or a rule answered.
        reported: files read as configuration by other programs, which the call writes without
            asking.
        spoke: rules that matched or covered, regardless of the result.
        judged: files written by a session and run by the call: path and digest of the content.
        justification: administrator's justification of the strongest rule.
    """

    verdict: Verdict
    reason: str = ""
    rule_ids: tuple[str, ...] = ()
    risk: RiskName = "low"
    findings: tuple[CommandFinding, ...] = ()
    asks: bool = False
    resolved_targets: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    floor: bool = False
    opaque: bool = False
    grant_id: str | None = None
    covered_by: tuple[str, ...] = ()
    released: tuple[CommandFinding, ...] = ()
    reported: tuple[str, ...] = ()
    spoke: tuple[str, ...] = ()
    judged: tuple[tuple[str, str], ...] = ()
    justification: str = ""

    @property
    def approved(self) -> frozenset[str]:
        """Return the codes of everything that was approved, once the call runs."""
        return frozenset(finding.code for finding in (*self.findings, *self.released))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON for the call's record. It contains no argument, so nothing is
        redacted.
        """
        kept: dict[str, Any] = {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "rule_ids": list(self.rule_ids),
            "risk": self.risk,
        }
        if self.segments:
            kept["segments"] = len(self.segments)
        optional: dict[str, Any] = {
            "floor": self.floor,
            "opaque": self.opaque,
            "grant_id": self.grant_id,
            "covered_by": list(self.covered_by),
            "released": list(dict.fromkeys(finding.code for finding in self.released)),
            "reported": list(self.reported),
            "judged_files": [path for path, _ in self.judged],
            "justification": self.justification,
        }
        kept.update({key: value for key, value in optional.items() if value})
        return kept


ALLOW = Decision(Verdict.ALLOW)
