"""Audit of calls: the decision before anything runs, and the end of each call.

`finished` is on the path of every call, so it assembles a line from existing JSON; calls other than
"allowed and successful" may take longer.
"""

from __future__ import annotations

from typing import Any

from app.execution.call import CallState
from app.execution.outcome import CallOutcome
from app.governance.audit.log import AuditEntry, AuditLog, bounded_json
from app.policy.decision import ALLOW
from app.policy.risk.model import Verdict

NOBODY = "system"
_DENIED = ("denied", "disabled")
_ASKED = ("declined", "expired")


class CallAudit:
    """Writer of a call's audit rows: `call.decided` and `call.finished`."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def decided(self, call: CallState) -> None:
        """Record that a call asks or is refused. Queued before the question or refusal is sent."""
        facts: dict[str, Any] = {"caller": call.context.caller, "tool_call_id": call.request.id}
        if call.ask_reasons:
            facts["hooks"] = list(call.ask_reasons)
        self._row("call.decided", call, None, facts)

    def finished(self, call: CallState, outcome: CallOutcome) -> None:
        """Record the end of a call. Queued; does not wait."""
        plain = call.refusal is None and call.decision is ALLOW and call.asked is None
        if not plain or not outcome.result.success or outcome.cached or call.ask_reasons:
            self._finished(call, outcome)
            return
        context = call.context
        args = self._arguments(call)
        milliseconds = outcome.execution_time * 1000
        # IDs of calls contain only characters that JSON does not escape.
        detail = (
            f'{{"caller":"{context.caller}","tool_call_id":"{call.request.id}"'
            f',"ms":{milliseconds:.3f}{args}}}'
        )
        entry = AuditEntry(
            "call.finished",
            actor=context.user_id or NOBODY,
            session_id=context.log.session_id,
            run_id=context.run_id,
            agent_id=context.agent_id,
            tool_name=call.tool_name,
            operation_id=call.operation_id,
            verdict="allow",
            outcome=outcome.status,
        )
        self._audit.put(entry, detail)

    def _finished(self, call: CallState, outcome: CallOutcome) -> None:
        facts: dict[str, Any] = {
            "caller": call.context.caller,
            "tool_call_id": call.request.id,
            "ms": round(outcome.execution_time * 1000, 3),
            "code": outcome.result.code,
            "cached": outcome.cached,
            "duplicate_of": outcome.duplicate_of,
            "confirmation": None if call.asked is None else call.asked.id,
            "approver": None if call.asked is None else call.asked.by,
        }
        self._row(
            "call.finished",
            call,
            outcome.status,
            {key: value for key, value in facts.items() if value or key == "ms"},
        )

    def _row(self, kind: str, call: CallState, outcome: str | None, facts: dict[str, Any]) -> None:
        context, refusal, decision = call.context, call.refusal, call.decision
        if decision is not None and decision is not ALLOW:
            facts["decision"] = decision.to_dict()
        if refusal is not None:
            facts["refused"] = {"code": refusal.code, "message": refusal.message}
        detail = self._audit.masked(facts)
        # The name of an unknown tool is arbitrary text.
        name = call.tool_name if call.entry else self._audit.shown(call.tool_name)
        entry = AuditEntry(
            kind,
            actor=context.user_id or NOBODY,
            session_id=context.log.session_id,
            run_id=context.run_id,
            agent_id=context.agent_id,
            tool_name=name,
            operation_id=call.operation_id,
            verdict=verdict_of(call),
            outcome=outcome,
        )
        self._audit.put(entry, f"{detail[:-1]}{self._arguments(call)}}}")

    def _arguments(self, call: CallState) -> str:
        """Return `,"args":…` for the configured level of detail."""
        level = self._audit.level
        if level == "redacted":
            # Already masked for the events.
            return f',"args":{bounded_json(call.arguments_json)}'
        shown = self._audit.arguments(call.shown_arguments)
        return "" if shown is None else f',"args":{shown}'


def verdict_of(call: CallState) -> str | None:
    """Return the final verdict of policy, switches, hooks and limits."""
    refusal, decision = call.refusal, call.decision
    if refusal is not None and refusal.status in _DENIED:
        return "deny"
    if call.asked is not None or call.ask_reasons:
        return "ask"
    if refusal is not None and refusal.status in _ASKED:
        return "ask"
    if decision is None:
        return None
    if decision.verdict is Verdict.ASK and not decision.asks:
        # Findings ask through a hook, which an operator may disable.
        return "allow" if refusal is None else "ask"
    return decision.verdict.value
