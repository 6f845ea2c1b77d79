"""Preview of the gate's decision about one call, without running it.

Takes the same steps as a call: catalog, switches, validation, rules, risk and grants. Hooks may run
programs, so they are listed but not called; limits depend on the moment and are not checked.
Nothing is counted, recorded or stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.core.clock import Clock, stamp
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.events.log import EventLog, SessionLog
from app.execution.call import CallState
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.execution.executor import Executor
from app.execution.hooks.builtin import CONFIRM_DANGEROUS
from app.execution.hooks.chain import Hooks
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.governance.grants import GrantStore
from app.policy.decision import Decision
from app.policy.grants import describe_pattern
from app.policy.risk.model import Verdict
from app.policy.rules.effect import rule_match, view_of
from app.resolver.policy_sets import RuleSetCache, rule_state

Answer = Literal["allow", "ask", "deny"]
_MAX_SHOWN = 50


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Rules and grants as stored, and the time by which they apply."""

    rules: RuleSetCache
    grants: GrantStore
    clock: Clock


class DecisionPreview:
    """Previews decisions about calls."""

    def __init__(
        self,
        agents: AgentStore,
        projects: Projects,
        events: EventLog,
        executor: Executor,
        hooks: Hooks,
        redactor: Redactor,
        stored: StoredPolicy,
    ) -> None:
        self._agents = agents
        self._projects = projects
        self._events = events
        self._executor = executor
        self._hooks = hooks
        self._redactor = redactor
        self._stored = stored

    def of(
        self,
        tool: str,
        arguments: dict[str, Any] | str,
        *,
        agent_id: str | None = None,
        project_id: str | None = None,
        user_id: str | None = None,
        log: SessionLog | None = None,
    ) -> dict[str, Any]:
        """Return the decision about a call of `tool`, as a document.

        Args:
            arguments: arguments of the call, as an object or JSON text.
            log: log of the calling session; its own files, folder and standing approvals apply.

        Raises:
            NotFound: the agent or project does not exist.
        """
        if agent_id is not None:
            self._agents.require(agent_id)
        opened = log or self._events.open(new_id("ses"), new_id("epo"), 0)
        try:
            context = CallContext(
                log=opened,
                agent_id=agent_id,
                user_id=user_id,
                project=self._projects.get(project_id) if project_id else None,
                caller="agent",
            )
            call = self._executor.foresee(CallRequest("can-i", tool, arguments), context)
        finally:
            if log is None:
                self._events.release(opened.session_id)
        return self._reported(call)

    def _reported(self, call: CallState) -> dict[str, Any]:
        decision, refusal = call.decision, call.refusal
        answer: Answer = "deny" if refusal is not None else self._answer(call)
        hooks = [] if call.tool is None else self._hooks_of(call)
        reported: dict[str, Any] = {
            "tool": call.tool_name,
            "verdict": answer,
            "status": refusal.status if refusal else None,
            "code": refusal.code if refusal else None,
            "reason": refusal.message if refusal else (decision.reason if decision else ""),
            "hooks": [name for name in hooks if name != CONFIRM_DANGEROUS],
            **_details(decision),
            "matching_rules": self._rules_about(call),
            "grant": self._grant(decision),
        }
        return dict(self._redactor.secrets_in(reported))

    def _rules_about(self, call: CallState) -> list[dict[str, Any]]:
        """Return the stored rules that match the call, and why some do not apply to it."""
        facts = self._executor.facts(call)
        if facts is None:
            return []
        now, view = self._stored.clock.time(), view_of(facts)
        found = []
        for item in self._stored.rules.loaded():
            rule, definition = item.rule, item.definition
            if rule is None or definition is None or not rule.concerns(facts.tool):
                continue
            match = "maybe" if rule.broken else rule_match(rule, view)
            if match == "no":
                continue
            state = rule_state(item, now)
            applies = state in ("active", "invalid") and rule.in_force(facts, now)
            found.append(
                {
                    "id": rule.id,
                    "decision": definition.decision,
                    "match": match,
                    "applies": applies,
                    "why_not": None if applies else "scope" if state == "active" else state,
                    "tool": definition.tool,
                    "conditions": definition.to_json().get("match", {}),
                    "scope": definition.scope,
                    "expires_at": None if rule.expires is None else stamp(rule.expires),
                    "justification": definition.justification,
                }
            )
        return found[:_MAX_SHOWN]

    def _grant(self, decision: Decision | None) -> dict[str, Any] | None:
        """Return the standing approval that releases the call."""
        wanted = None if decision is None else decision.grant_id
        grant = next((one for one in self._stored.grants.snapshot if one.id == wanted), None)
        if grant is None:
            return None
        return {
            "id": grant.id,
            "scope": grant.scope,
            "covers": describe_pattern(grant.pattern),
            "created_by": grant.created_by,
            "expires_at": None if grant.expires_at is None else stamp(grant.expires_at),
        }

    def _answer(self, call: CallState) -> Answer:
        """Return the verdict that remains if the operator disables confirmation of findings."""
        decision = call.decision
        if decision is None or decision.verdict is not Verdict.ASK:
            return "allow"
        asks = decision.asks or not decision.findings or CONFIRM_DANGEROUS in self._hooks_of(call)
        return "ask" if asks else "allow"

    def _hooks_of(self, call: CallState) -> list[str]:
        plan = self._hooks.plan(call.tool_name)
        found = call.decision is not None and bool(call.decision.findings)
        return [hook.name for hook in (plan.pre_with_findings if found else plan.pre)]


def _details(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        return {"risk": None, "rules": [], "findings": [], "segments": [], "targets": []}
    return {
        "risk": decision.risk,
        "rules": list(decision.rule_ids),
        "covered_by": list(decision.covered_by),
        "grant_id": decision.grant_id,
        "floor": decision.floor,
        "findings": [
            {"code": found.code, "segment": found.segment, "why": found.why}
            for found in (*decision.findings, *decision.released)[:_MAX_SHOWN]
        ],
        "segments": [segment.text for segment in decision.segments[:_MAX_SHOWN]],
        "targets": list(decision.resolved_targets[:_MAX_SHOWN]),
    }
