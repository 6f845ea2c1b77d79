"""Content of a confirmation request: the exact call, as completely as fits."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson

from app.core.escaping import unpadded, visible_json
from app.core.redaction import Redactor
from app.core.text import truncate
from app.execution.call import CallState, Judgement
from app.execution.confirmation.options import GrantCoverage, GrantTtls, options_for
from app.execution.confirmation.pending_confirmations import ConfirmationRequest
from app.execution.confirmation.targets import Targets
from app.execution.context import CallContext
from app.execution.record import bounded, title
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms
from app.policy.decision import Decision
from app.policy.grants import describe_pattern
from app.policy.risk.model import Verdict
from app.toolkit.tool import Tool

MAX_SEGMENTS = 50
MAX_SEGMENT_CHARS = 2_000
MAX_RULES = 20
MAX_SCHEMA_BYTES = 64_000
TARGETS_CHANGED = "targets_changed"
"""Reason for asking again: the targets differ from the approved ones."""
ARGUMENTS_CHANGED = "arguments_changed"
"""Reason for asking again: edited arguments need approval for a reason that was not shown."""
EDITED = "A person changed the arguments, which now need approval for another reason"


def call_digest(
    *,
    tool: str,
    canonical: bytes,
    cwd: str | None,
    agent_id: str | None,
    version: str = "",
    targets: str = "",
) -> str:
    """Return the digest that binds an approval: tool, definition, arguments, directory, agent,
    targets.

    Targets are included only if they could be listed. Rules and switches are excluded: they are
    evaluated again before the call runs, so that a change elsewhere does not void every open
    confirmation.
    """
    parts = orjson.dumps([tool, cwd, agent_id, version, *([targets] if targets else [])])
    return sha256(parts + b"\0" + canonical).hexdigest()


def digest_of(call: CallState, version: str, targets: str = "") -> str:
    """Return the digest that an approval of this call is bound to."""
    assert call.prepared is not None
    context = call.context
    return call_digest(
        tool=call.tool_name,
        canonical=call.prepared.canonical,
        cwd=call.cwd,
        agent_id=context.agent_id,
        version=version,
        targets=targets,
    )


def tool_version(tool: Tool) -> str:
    """Return a fingerprint of everything about a tool that affects a decision."""
    known = {**tool.manifest(), "source": tool.source, "shell": tool.shell}
    return sha256(orjson.dumps(known, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def reasons_of(call: CallState | Judgement) -> frozenset[str]:
    """Return the codes of the reasons why a call asks, which the approver has seen."""
    decision = call.decision
    if decision is None:
        return frozenset()
    codes = decision.rule_ids if decision.verdict is Verdict.ASK else ()
    found = (finding.code for finding in decision.findings)
    # An approval of a call also approves the present content of the files that it runs.
    files = decision.judged if decision.verdict is Verdict.ASK else ()
    return frozenset({*codes, *found, *(f"{path}={digest}" for path, digest in files)})


def shown_arguments(arguments: Mapping[str, Any], redactor: Redactor) -> Any:
    """Return displayable arguments: secrets masked, hidden characters visible, long values
    truncated.
    """
    return visible_json(bounded(redactor.arguments(dict(arguments))[0]))


def confirmation_request(
    call: CallState,
    *,
    redactor: Redactor,
    times: GrantTtls,
    pattern: Mapping[str, Any] | None,
    targets: Targets,
    again: str,
    agent: str | None,
    terms: ApprovalTerms | None,
    expires_in_s: float | None,
) -> ConfirmationRequest:
    """Build the confirmation of a call: exactly what would run, and the reasons.

    Args:
        again: reason for a second confirmation.
        terms: what a policy requires of the approvers.
    """
    assert call.prepared is not None
    assert call.decision is not None
    assert call.tool is not None
    context, decision, cwd = call.context, call.decision, call.cwd
    shown = shown_arguments(call.prepared.raw, redactor)
    version = tool_version(call.tool)
    several = terms is not None and terms.quorum > 1
    if several:
        pattern = None  # One person's approval of later calls would stand for all of them.
    coverage = _coverage(pattern, redactor, targets) if pattern else None
    options = options_for(
        coverage=coverage,
        run_id=context.run_id,
        session_id=context.session_id,
        agent_id=context.agent_id,
        times=times,
    )
    fields: dict[str, Any] = {
        "title": title(call.tool_name, shown),
        "description": redactor.text(_description(call, decision, again)),
        "subject": _subject(call.tool, shown, cwd),
        "risk": {"level": decision.risk, "rules": redactor.secrets_in(_rules(decision, again))},
        "editable": not several,
        "response_schema": _schema(call.tool),
        "segments": redactor.secrets_in(_segments(decision)),
        "targets": redactor.secrets_in(list(targets.shown)),
        "target_list": targets.to_dict(),
        "asked_again": redactor.text(again) if again else None,
        "cwd": cwd,
        "requested_by": _requester(context, agent),
    }
    return ConfirmationRequest(
        ids=call.head(),
        tool_name=call.tool_name,
        digest=digest_of(call, version, targets.digest),
        fields=fields,
        options={option.option_id: option for option in options},
        pattern=pattern,
        case=ApprovalCase(context.owner, terms),
        expires_in_s=expires_in_s,
        call=_resumable(call, version, pattern, targets),
    )


def _resumable(
    call: CallState, version: str, pattern: Mapping[str, Any] | None, targets: Targets
) -> dict[str, Any]:
    """Return what a restarted service needs to run exactly this call."""
    assert call.prepared is not None
    return {
        "arguments": call.prepared.raw,
        "version": version,
        "reasons": sorted(reasons_of(call)),
        "ask_reasons": list(call.ask_reasons),
        "pattern": pattern,
        "targets": targets.to_dict(),
    }


def restored_arguments(edited: Any, shown: Any, original: Any) -> Any:
    """Return edited arguments, with unchanged parts restored to their original values.

    People see secrets masked, long texts truncated and hidden characters escaped; parts they did
    not edit must not be replaced by what they saw.
    """
    if edited == shown:
        return original
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(original, dict):
        return {
            key: restored_arguments(item, shown[key], original[key])
            if key in shown and key in original
            else item
            for key, item in edited.items()
        }
    lists = isinstance(edited, list) and isinstance(shown, list) and isinstance(original, list)
    if lists and len(edited) == len(shown) == len(original):
        return [restored_arguments(*items) for items in zip(edited, shown, original, strict=True)]
    return edited


def _description(call: CallState, decision: Decision, again: str) -> str:
    why = "; ".join(call.ask_reasons) or decision.reason
    return f"{again}. {why}" if again else why


def _coverage(pattern: Mapping[str, Any], redactor: Redactor, targets: Targets) -> GrantCoverage:
    """Describe what a standing approval covers: the call, and its targets at that time."""
    reported = redactor.text(unpadded(describe_pattern(pattern)))
    later = _WHATEVER_IS_THERE if targets.count > len(targets.shown) else ""
    return GrantCoverage(reported + later, pattern["kind"])


_WHATEVER_IS_THERE = ", whatever the folders and patterns contain at that time"


def _requester(context: CallContext, agent: str | None) -> dict[str, Any]:
    known = {"user_id": context.user_id, "agent_id": context.agent_id, "agent": agent}
    if context.subagent is not None:
        known |= context.subagent.to_details()
    return {
        "caller": context.caller,
        **{name: value for name, value in known.items() if value is not None},
    }


def _subject(tool: Tool, shown: Any, cwd: str | None) -> dict[str, Any]:
    if tool.shell is None:
        return {"type": "tool_call", "args": shown}
    where = shown.get("working_dir")
    return {
        "type": "command",
        "command": str(shown.get(tool.command_argument, "")),
        "cwd": where if isinstance(where, str) and where else cwd or ".",
    }


def _rules(decision: Decision, again: str) -> list[dict[str, Any]]:
    code = ARGUMENTS_CHANGED if again.startswith(EDITED) else TARGETS_CHANGED
    changed = [{"rule_id": code, "reason": again}] if again else []
    found = [
        {"rule_id": finding.code, "reason": unpadded(finding.why)} for finding in decision.findings
    ]
    known = {finding.code for finding in decision.findings}
    reported = [
        {"rule_id": rule, "reason": unpadded(decision.justification or decision.reason)}
        for rule in decision.rule_ids
        if rule not in known
    ]
    return [*changed, *found, *reported][:MAX_RULES]


def _segments(decision: Decision) -> list[dict[str, Any]]:
    shown = []
    for number, segment in enumerate(decision.segments[:MAX_SEGMENTS]):
        reasons = [
            {"code": finding.code, "why": unpadded(finding.why)}
            for finding in decision.findings
            if finding.segment == number
        ]
        text = truncate(unpadded(segment.text), MAX_SEGMENT_CHARS)
        shown.append({"text": text, "cwd": segment.cwd, "reasons": reasons})
    return shown


def _schema(tool: Tool) -> dict[str, Any] | None:
    schema = dict(tool.parameters)
    return schema if len(orjson.dumps(schema)) <= MAX_SCHEMA_BYTES else None
