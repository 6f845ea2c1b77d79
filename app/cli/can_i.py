"""`tollgate can-i`: what would be decided about one call. It is not made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer

from app.cli.arguments import parse_pairs
from app.core.settings import Settings
from app.core.visible import visible
from app.execution.can_i import can_i
from app.execution.projects import DEFAULT_PROJECT
from app.main import gate_as_served

EXIT_CODES = {"allow": 0, "deny": 3, "ask": 4}


async def show_decision(
    settings: Settings,
    tool: str,
    pairs: Sequence[str],
    *,
    json_text: str | None,
    agent: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Print the decision and what it rests on; its exit code.

    Args:
        json_text: the arguments as JSON; None when they came as `key=value` words.

    Raises:
        InvalidInput: the words cannot be read as arguments.
        NotFound: there is no such agent or project.
    """
    async with gate_as_served(settings) as gate:
        arguments: dict[str, Any] | str = json_text if json_text is not None else {}
        if json_text is None:
            known = gate.registry.get(tool)
            schema, aliases = (known.parameters, known.argument_aliases) if known else (None, {})
            arguments = parse_pairs(pairs, schema, aliases)
        told = can_i(gate, tool, arguments, agent_id=agent, project_id=project or DEFAULT_PROJECT)
    if as_json:
        typer.echo(json.dumps(told, indent=2))
    else:
        for line in _lines(told):
            typer.echo(line)
    return EXIT_CODES[told["verdict"]]


def _lines(told: dict[str, Any]) -> list[str]:
    risk = f" (risk: {told['risk']})" if told["risk"] else ""
    lines = [f"{told['verdict']}{risk}"]
    found = [f"  {one['why']} ({one['code']})" for one in told["findings"]]
    if told["reason"] and not found:
        code = f" ({told['code']})" if told["code"] else ""
        lines.append(f"  {told['reason']}{code}")
    lines += found
    lines += [f"  allowed by the rule {name}" for name in told.get("covered_by", ())]
    if told.get("grant_id"):
        lines.append(f"  released by the lasting approval {told['grant_id']}")
    lines += [f"  would hit {target}" for target in told["targets"]]
    lines += [f"  the hook {name} would be asked as well" for name in told["hooks"]]
    return [visible(line) for line in dict.fromkeys(lines)]
