"""Recorded calls with what became of them, as evidence for and against rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from app.policy.decision import Decision
from app.policy.evaluator import decide
from app.policy.rules.dry_run import PastCall
from app.policy.rules.rule_set import RuleSet

Ending = Literal["unasked", "approved", "declined", "denied", "unanswered", "unattended"]
DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """One call of the history.

    Attributes:
        ending: `unasked`: it needed no answer; `denied`: refused without a person's answer;
            `unanswered`: expired or cancelled; `unattended`: nobody was there to ask.
        project_id: project of its session.
        at: time of the answer, or else of the call, RFC 3339 in UTC.
        answered_by: user id of the person who answered.
        is_evidence: the approval was for this call alone and as it was requested: neither
            edited, nor a standing approval.
    """

    call: PastCall
    ending: Ending
    at: str
    project_id: str | None = None
    answered_by: str | None = None
    is_evidence: bool = False

    @property
    def operation_id(self) -> str:
        return self.call.operation_id

    @property
    def agent(self) -> str:
        return self.call.facts.agent_id or DEFAULT_AGENT

    @property
    def day(self) -> str:
        return self.at[:10]

    @property
    def is_replayable(self) -> bool:
        """Return whether its record determines how it was decided.

        The kept directory of a shell and a tool's own reasons are not recorded, and a masked
        argument may be anything.
        """
        facts = self.call.facts
        keeps = facts.tool.shell is not None and facts.values.get("keep_state") is True
        return not (keeps or self.call.is_masked or facts.tool.asks is not None)


class History:
    """The newest recorded calls, newest first, with their present decisions.

    Attributes:
        position: newest call and answer among them; two histories with the same position and
            the same size are equal.
        not_judged: further calls whose tool or arguments no longer fit.
    """

    def __init__(
        self,
        calls: Iterable[AnsweredCall],
        rules: RuleSet,
        now: float,
        *,
        position: str = "",
        not_judged: int = 0,
    ) -> None:
        self.calls: Sequence[AnsweredCall] = tuple(calls)
        self.rules = rules
        self.now = now
        self.position = position
        self.not_judged = not_judged

    @cached_property
    def decisions(self) -> Sequence[Decision]:
        """Return the decision about each call with the present rules, without grants."""
        return tuple(decide(item.call.facts, rules=self.rules, now=self.now) for item in self.calls)
