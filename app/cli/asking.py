"""Showing a confirmation as text: exactly what would run, where, and why it asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.cli.terminal import visible

YES = frozenset({"y", "yes"})


def confirmation_lines(request: Mapping[str, Any]) -> list[str]:
    """The lines to show for the fields of a `tool_confirmation_request`."""
    subject = request["subject"]
    lines = [f"{visible(str(request['tool_name']))} asks to run:"]
    if subject["type"] == "command":
        lines += [f"  | {line}" for line in visible(subject["command"]).split("\n")]
        lines.append(f"  in {visible(subject['cwd'])}")
    else:
        shown = json.dumps(subject["args"], ensure_ascii=False, indent=2)
        lines += [f"  | {line}" for line in visible(shown).split("\n")]
    risk = request["risk"]
    lines.append(f"  risk: {risk['level']}")
    lines += [f"  - {reason}" for reason in reasons(request)]
    return lines


def reasons(request: Mapping[str, Any]) -> list[str]:
    """Why the call asks, one sentence each, none twice."""
    rules = request["risk"].get("rules", ())
    found = [visible(f"{rule['reason']} ({rule['rule_id']})") for rule in rules]
    return list(dict.fromkeys(found)) or [visible(str(request.get("description") or ""))]


def option_of(request: Mapping[str, Any], kind: str) -> str:
    """Id of the offered option that allows or denies."""
    return next(str(item["option_id"]) for item in request["options"] if item["kind"] == kind)
