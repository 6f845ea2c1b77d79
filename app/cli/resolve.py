"""`tollgate resolve`: an agent's tools, and why others are unavailable."""

from __future__ import annotations

from typing import Any

import typer

from app.bootstrap.installation import runtime_as_served
from app.bootstrap.previews import toolset_preview
from app.cli.options import print_json
from app.cli.target import Place, RemoteService
from app.core.escaping import visible
from app.core.text import json_default


async def show_resolved(place: Place, agent: str | None, *, subagent: bool, as_json: bool) -> int:
    """Print the resolved tools.

    Raises:
        NotFound: The agent does not exist; the message lists the existing ones.
    """
    if isinstance(place, RemoteService):
        document = await place.get("admin", "toolset", agent_id=agent, subagent=subagent)
    else:
        async with runtime_as_served(place.settings) as runtime:
            document = await toolset_preview(runtime).of(agent, subagent=subagent)
    if as_json:
        print_json(document, default=json_default)
        return 0
    for line in _lines(document):
        typer.echo(line)
    return 0


def _lines(document: dict[str, Any]) -> list[str]:
    rows = document["runtime_diagnostic"]["tools"]
    width = max((len(visible(row["name"])) for row in rows), default=0)
    lines = [_row(row, width) for row in rows]
    tokens = document["tokens"]
    lines.append(
        f"{len(document['tool_names'])} tools, {len(document['deferred'])} of them "
        f"loaded by search; about {tokens['total']} tokens per request "
        f"({tokens['schemas']} for tools, {tokens['prompt']} for the prompt)"
    )
    return lines


def _row(row: dict[str, Any], width: int) -> str:
    name = f"{visible(row['name']):{width}}  {row['state']:4}"
    if row["reason"] is not None:
        fix = f" ({visible(row['reason']['fix'])})" if row["reason"]["fix"] else ""
        return f"{name}  {row['reason']['code']}: {visible(row['reason']['message'])}{fix}"
    notes = [f"{row['route']}", f"{row['tokens']} tokens"]
    if row["shown"] == "deferred":
        notes.append("loaded by search")
    if row["asks_by"]:
        notes.append(f"asks ({row['asks_by']})")
    if row["core"]:
        notes.append("core")
    if row["shown_as"] != row["name"]:
        notes.append(f"shown as {visible(row['shown_as'])}")
    return f"{name}  {', '.join(notes)}"
