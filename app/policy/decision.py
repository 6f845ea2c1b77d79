"""What policy says about one call: a value. `app.policy.evaluator` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.policy.risk.model import CommandFinding, Segment, Verdict

RiskName = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one call and everything that led to it.

    Attributes:
        reason: one sentence for a person and for the model.
        rule_ids: machine codes of what spoke, strongest first.
        findings: what asks or denies and nobody released; the built-in hook asks for them.
        asks: a flag or a rule demands a confirmation, whatever the hooks say.
        resolved_targets: paths or URLs the call would reach, as far as they are known.
        segments: the commands that a shell would run.
        floor: denied by what no rule, grant or mode lifts.
        opaque: something would run that is not in `segments`.
        grant_id: the lasting approval that answered the question.
        covered_by: rules that allowed what would have asked.
        released: findings that a grant or a rule answered.
        reported: files that another program obeys later, which the call writes without a question.
        spoke: rules that matched or covered, whatever came of it.
        judged: files that a session wrote and the call runs: path and digest of the content.
        justification: what the administrator wrote about the strongest rule.
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
        """The codes of all that was asked about, once the call runs."""
        return frozenset(finding.code for finding in (*self.findings, *self.released))

    def to_dict(self) -> dict[str, Any]:
        """The JSON kept with the call's record. Holds no argument: nothing in it is redacted."""
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
