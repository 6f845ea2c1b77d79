"""`tollgate can-i`: shows the decision about one call without running it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer

from app.bootstrap.installation import runtime_as_served
from app.bootstrap.previews import decision_preview
from app.cli.arguments import parse_pairs
from app.cli.options import print_json
from app.cli.remote_call import arguments_for
from app.cli.target import Place, RemoteService
from app.config.settings import Settings
from app.core.errors import InvalidInput
from app.core.escaping import visible
from app.execution.projects import DEFAULT_PROJECT

EXIT_CODES = {"allow": 0, "deny": 3, "ask": 4}
_WHY_NOT = {
    "scope": "it is for other agents, projects or sessions",
    "disabled": "it is disabled",
    "expired": "it has expired",
}


async def show_decision(
    place: Place,
    tool: str,
    pairs: Sequence[str],
    *,
    json_text: str | None,
    agent: str | None,
    project: str | None,
    session: str | None = None,
    as_json: bool,
) -> int:
    """Print the decision with its reasons and return its exit code.

    Args:
        json_text: Arguments as JSON; None when they came as `key=value` words.
        session: session whose files and standing approvals apply; only in a running service.

    Raises:
        InvalidInput: The command line cannot be parsed as arguments.
        NotFound: The agent or project does not exist.
    """
    if isinstance(place, RemoteService):
        body = {
            "tool": tool,
            "arguments": await _arguments(place, tool, pairs, json_text),
            "agent_id": agent,
            "project_id": project,
            "session_id": session,
        }
        decision = await place.send("POST", "admin", "can-i", body=body)
    elif session is not None:
        raise InvalidInput("--session needs a running service", field="--session")
    else:
        decision = await _decided(place.settings, tool, pairs, json_text, agent, project)
    decision["unchecked"] = ["limits"]
    if as_json:
        print_json(decision)
    else:
        for line in _lines(decision):
            typer.echo(line)
    return EXIT_CODES[decision["verdict"]]


async def _decided(
    settings: Settings,
    tool: str,
    pairs: Sequence[str],
    json_text: str | None,
    agent: str | None,
    project: str | None,
) -> dict[str, Any]:
    async with runtime_as_served(settings) as runtime:
        arguments: dict[str, Any] | str = json_text if json_text is not None else {}
        if json_text is None:
            known = runtime.registry.get(tool)
            schema, aliases = (known.parameters, known.argument_aliases) if known else (None, {})
            arguments = parse_pairs(pairs, schema, aliases)
        return decision_preview(runtime).of(
            tool, arguments, agent_id=agent, project_id=project or DEFAULT_PROJECT
        )


async def _arguments(
    service: RemoteService, tool: str, pairs: Sequence[str], json_text: str | None
) -> dict[str, Any]:
    """Return the arguments in the form that REST expects."""
    if json_text is None:
        return await arguments_for(service, tool, pairs)
    try:
        given = json.loads(json_text)
    except ValueError as error:
        raise InvalidInput(f"--json-args is not valid JSON: {error}", field="--json-args") from None
    if not isinstance(given, dict):
        raise InvalidInput("--json-args must be one JSON object", field="--json-args")
    return given


def _lines(decision: dict[str, Any]) -> list[str]:
    risk = f" (risk: {decision['risk']})" if decision["risk"] else ""
    lines = [f"{decision['verdict']}{risk}"]
    found = [f"  {one['why']} ({one['code']})" for one in decision["findings"]]
    if decision["reason"] and not found:
        code = f" ({decision['code']})" if decision["code"] else ""
        lines.append(f"  {decision['reason']}{code}")
    lines += found
    lines += [f"  allowed by the rule {name}" for name in decision.get("covered_by", ())]
    lines += [_rule_line(rule) for rule in decision.get("matching_rules", ())]
    if decision.get("grant_id"):
        lines.append(_grant_line(decision))
    lines += [f"  affects {target}" for target in decision["targets"]]
    lines += [f"  the hook {name} would also be called" for name in decision["hooks"]]
    if decision["verdict"] != "deny":
        lines.append("  limits are not checked: the call is denied if one is exhausted")
    return [visible(line) for line in dict.fromkeys(lines)]


def _rule_line(rule: dict[str, Any]) -> str:
    """Return a rule that matches the call, and whether it applies."""
    conditions = json.dumps(rule["conditions"], ensure_ascii=False)
    what = f"{rule['decision']} {rule['tool']} {conditions}, {rule['scope']}"
    if rule["expires_at"]:
        what += f", until {rule['expires_at']}"
    if not rule["applies"]:
        return f"  the rule {rule['id']} does not apply ({_WHY_NOT[rule['why_not']]}): {what}"
    verb = "may match" if rule["match"] == "maybe" else "matches"
    return f"  the rule {rule['id']} {verb}: {what}"


def _grant_line(decision: dict[str, Any]) -> str:
    line = f"  allowed by the standing approval {decision['grant_id']}"
    grant = decision.get("grant")
    if not grant:
        return line
    until = f", until {grant['expires_at']}" if grant["expires_at"] else ""
    return f"{line} of {grant['created_by']} ({grant['scope']}{until}): {grant['covers']}"
