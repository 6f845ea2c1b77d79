"""`tollgate rules proposals|accept|dismiss`: proposed rules of a running service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import typer

from app.cli.options import print_json
from app.cli.target import RemoteService
from app.core.escaping import visible

_PATH = ("admin", "rule-proposals")
_CALLS = (
    ("let_through", "would run without a question"),
    ("refused", "were refused, and would run"),
    ("newly_denied_calls", "would be denied"),
)


async def list_proposals(
    service: RemoteService, *, everything: bool, compute: bool, as_json: bool
) -> int:
    """Print the open proposals, or all of them."""
    if compute:
        done = await service.send("POST", *_PATH, "recompute")
        typer.echo(f"{done['added']} added, {done['stale']} withdrawn.", err=True)
    wanted = {} if everything else {"state": "open"}
    rows = await service.pages("proposals", *_PATH, **wanted)
    if as_json:
        print_json({"proposals": rows})
        return 0
    for row in rows:
        typer.echo(f"{row['id']}  {row['state']:9}  {visible(row['title'])}")
        typer.echo(f"    {visible(row['why'])} {visible(row['summary'])}")
        if row["reason"]:
            typer.echo(f"    the agent's reason: {visible(row['reason'])}")
    if not rows:
        typer.echo(
            "No proposals. Compute them with `tollgate rules proposals --compute`.", err=True
        )
    return 0


async def show_proposal(service: RemoteService, proposal_id: str, *, as_json: bool) -> int:
    """Print one proposal with its rule and its proof."""
    row = await service.get(*_PATH, proposal_id)
    if as_json:
        print_json(row)
        return 0
    typer.echo(f"{row['id']}  {row['state']}  {visible(row['title'])}")
    typer.echo(visible(row["why"]))
    typer.echo(visible(row["summary"]))
    if row["reason"]:
        typer.echo(f"the agent's reason: {visible(row['reason'])}")
    for name, what in _CALLS:
        for call in row["proof"][name]:
            typer.echo(f"  {what}: {_call(call)}")
    for case in row["proof"]["corpus_changed"]:
        change = f"{case['before']} to {case['after']}"
        typer.echo(f"  corpus, {change}: {visible(case['command'])}")
    typer.echo(visible(json.dumps(row["definition"], ensure_ascii=False)))
    return 0


async def decide_proposal(
    service: RemoteService, proposal_id: str, decision: Literal["accept", "dismiss"]
) -> int:
    """Accept or dismiss a proposal."""
    row = await service.send("POST", *_PATH, proposal_id, decision)
    if decision == "accept" and row["kind"] != "remove":
        typer.echo(row["rule_id"])
    typer.echo(f"{row['state']}: {visible(row['title'])}", err=True)
    return 0


def _call(call: Mapping[str, Any]) -> str:
    arguments = call["arguments"]
    shown = arguments.get("command") or json.dumps(arguments, ensure_ascii=False)
    return f"{call['at']}  {visible(call['agent_id'])}  {visible(str(shown))}  ({call['ending']})"
