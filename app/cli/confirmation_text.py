"""Text view of a confirmation: the exact call, where it runs, and why approval is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import InvalidInput
from app.core.escaping import visible

YES = frozenset({"y", "yes"})
NO = frozenset({"n", "no"})
APPROVE, DECLINE = frozenset({"a", "approve"}), frozenset({"d", "decline"})
EDIT = frozenset({"e", "edit"})
# Fits into the 80 columns of a terminal.
HOW_TO_ANSWER = "number, a = approve once, d [reason] = decline, e {…} = edit arguments: "


def confirmation_lines(request: Mapping[str, Any]) -> list[str]:
    """Return the lines that show a `tool_confirmation_request`."""
    subject = request["subject"]
    lines = [f"Allow {visible(str(request['tool_name']))} to run?"]
    if subject["type"] == "command":
        lines += [f"  | {line}" for line in visible(subject["command"]).split("\n")]
        lines.append(f"  in {visible(subject['cwd'])}")
    else:
        shown = json.dumps(subject["args"], ensure_ascii=False, indent=2)
        lines += [f"  | {line}" for line in visible(shown).split("\n")]
    risk = request["risk"]
    lines.append(f"  risk: {risk['level']}")
    lines += [f"  - {reason}" for reason in reasons(request)]
    lines += [f"  affects {target}" for target in targets(request)]
    requested_by = request.get("requested_by") or {}
    if subagent := requested_by.get("subagent"):
        lines.append(f"  requested by the sub-agent {visible(str(subagent))}")
    if agent := requested_by.get("agent_id"):
        lines.append(f"  requested by the agent {visible(str(agent))}")
    lines += _approvers(request.get("approval"))
    if request.get("expires_at"):
        lines.append(f"  expires at {visible(str(request['expires_at']))}")
    return lines


def _approvers(terms: Mapping[str, Any] | None) -> list[str]:
    """Return the lines about the approval policy of a request."""
    if not terms:
        return []
    steps: list[str] = []
    for step in terms["steps"]:
        names = [*map(str, step["groups"]), *(["the owner"] if step["owner"] else [])]
        later = f" from {step['at']}" if steps else ""
        steps.append(f"{', '.join(map(visible, names))}{later}")
    lines = [f"  approvers by the policy {visible(str(terms['policy']))}: {'; '.join(steps)}"]
    if terms["quorum"] > 1:
        given = ", ".join(visible(str(name)) for name in terms["approved_by"])
        by = f" ({given})" if given else ""
        lines.append(f"  approvals: {len(terms['approved_by'])} of {terms['quorum']}{by}")
    if terms["not_requester"]:
        lines.append("  the requester may not answer")
    return lines


def targets(request: Mapping[str, Any]) -> list[str]:
    """List what the call affects, with file counts and the first names."""
    lines = []
    for target in request.get("targets") or ():
        leads = {link["path"]: link["real"] for link in target.get("links") or ()}
        names = [_named(name, leads.get(name)) for name in target.get("names") or ()]
        rest = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        listed = f": {', '.join(names[:_MOST_NAMES])}{rest}" if names else ""
        lines.append(f"{_target(target)}{listed}")
    return lines


_MOST_NAMES = 10


def _named(path: Any, real: Any) -> str:
    """Return a path, and the target of its links."""
    shown = visible(str(path))
    return f"{shown} → {visible(str(real))}" if real else shown


def _target(target: Mapping[str, Any]) -> str:
    path, kind = _named(target["path"], target.get("real")), target.get("type")
    files = target.get("files")
    if kind == "missing":
        return f"{path} (does not exist)"
    if kind == "directory" and files is not None:
        more = " or more" if target.get("more") else ""
        return f"{path} (folder with {files}{more} files)"
    if kind == "unknown" and target.get("names"):
        return f"{path} ({files} files)"
    return path


def reasons(request: Mapping[str, Any]) -> list[str]:
    """Return the distinct reasons why approval is needed, one sentence each."""
    rules = request["risk"].get("rules", ())
    found = [visible(f"{rule['reason']} ({rule['rule_id']})") for rule in rules]
    return list(dict.fromkeys(found)) or [visible(str(request.get("description") or ""))]


def option_lines(request: Mapping[str, Any]) -> list[str]:
    """Number the offered answers; lasting ones show what they cover."""
    lines = []
    for number, option in enumerate(request["options"], 1):
        described = visible(str(option["label"]))
        if option.get("expires_in_s"):
            described += f" for {_span(float(option['expires_in_s']))}"
        if option.get("requires_scope"):
            described += f" (requires the scope {option['requires_scope']})"
        lines.append(f"  {number}) {described}")
    covers = {visible(str(o["covers"])) for o in request["options"] if o.get("covers")}
    return [*lines, *(f"     standing approval covers {item}" for item in covers)]


def _span(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length or seconds == length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} seconds"


@dataclass(frozen=True, slots=True)
class Typed:
    """Parsed answer of one line."""

    option_id: str
    message: str | None = None
    edited_args: dict[str, Any] | None = None


def typed_answer(request: Mapping[str, Any], line: str) -> Typed | None:
    """Parse the answer of a line; return None if the choice is unclear.

    Raises:
        InvalidInput: The edited arguments are not a JSON object.
    """
    word, _, rest = line.strip().partition(" ")
    options = request["options"]
    if word.isascii() and word.isdigit():
        index = int(word) - 1
        if not 0 <= index < len(options):
            return None
        option = options[index]
        return Typed(str(option["option_id"]), rest.strip() or None)
    if word.lower() in EDIT and rest and request.get("editable"):
        return Typed(option_of(request, "allow"), None, _arguments(rest))
    kind = "allow" if word.lower() in APPROVE else "deny" if word.lower() in DECLINE else None
    if kind is None or (kind == "allow" and rest):
        return None
    return Typed(option_of(request, kind), rest.strip() or None)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"The arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("The arguments must be one JSON object")
    return value


def option_of(request: Mapping[str, Any], kind: str) -> str:
    """Return the ID of the offered option that denies, or that allows once."""
    matching = [str(item["option_id"]) for item in request["options"] if item["kind"] == kind]
    return "approve_once" if "approve_once" in matching else matching[0]
