"""What a person is shown before a call runs."""

from __future__ import annotations

from typing import Any

from app.core.redaction import Redactor
from app.execution.confirmations import Question, call_digest
from app.execution.pipeline import Call
from app.execution.record import bounded, title


def question_for(call: Call, redactor: Redactor) -> Question:
    """The question for a call that asks: exactly what would run, and why it asks."""
    assert call.prepared is not None
    assert call.decision is not None
    assert call.tool is not None
    project = call.context.project
    cwd = project.root if project else None
    shown, _ = redactor.arguments(call.prepared.raw)
    subject: dict[str, Any] = {"type": "tool_call", "args": bounded(shown)}
    if call.tool.shell is not None:
        where = shown.get("working_dir")
        subject = {
            "type": "command",
            "command": str(shown.get("command", "")),
            "cwd": where if isinstance(where, str) and where else cwd or ".",
        }
    rules = [
        {"rule_id": finding.code, "reason": finding.why} for finding in call.decision.findings
    ] or [{"rule_id": rule, "reason": call.decision.reason} for rule in call.decision.rule_ids]
    return Question(
        tool_call_id=call.request.id,
        operation_id=call.operation_id,
        tool_name=call.tool_name,
        title=title(call.tool_name, shown),
        description=redactor.text("; ".join(call.ask_reasons) or call.decision.reason),
        subject=subject,
        risk={"level": call.decision.risk, "rules": redactor.secrets_in(rules[:20])},
        digest=call_digest(
            tool=call.tool_name,
            canonical=call.prepared.canonical,
            cwd=cwd,
            agent_id=call.context.agent_id,
        ),
        run_id=call.context.run_id,
        agent_id=call.context.agent_id,
    )
