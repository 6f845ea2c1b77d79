"""`tollgate tools`: the catalog as this installation resolves it."""

from __future__ import annotations

import json
from typing import Any

import typer

from app.catalog.catalog import Catalog
from app.cli.terminal import visible
from app.core.settings import Settings
from app.core.text import json_default
from app.main import local_gate
from app.resolver.resolver import ResolvedToolset


async def list_tools(settings: Settings, *, as_json: bool) -> int:
    """Print every tool and every plugin that could not be loaded."""
    async with local_gate(settings) as gate:
        catalog, resolved = gate.registry.snapshot(), gate.resolver.resolve()
    if as_json:
        typer.echo(json.dumps(as_document(catalog, resolved), indent=2, default=json_default))
        return 0
    for line in _lines(catalog, resolved):
        typer.echo(line)
    return 0


def as_document(catalog: Catalog, resolved: ResolvedToolset) -> dict[str, Any]:
    """`{tools: [...], problems: [...]}`; each tool with `enabled` and `disabled_reason`."""
    reasons = resolved.disabled_reasons
    tools = [
        {
            **row,
            "enabled": row["name"] not in reasons,
            "disabled_reason": reasons[row["name"]].to_dict() if row["name"] in reasons else None,
        }
        for row in catalog.rows()
        if row["alias_of"] is None
    ]
    problems = [
        {"name": item.name, "where": item.where, "error": item.error} for item in catalog.problems
    ]
    return {"tools": tools, "problems": problems}


def _lines(catalog: Catalog, resolved: ResolvedToolset) -> list[str]:
    rows = as_document(catalog, resolved)["tools"]
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for row in rows:
        asks = " asks" if row["name"] in resolved.confirmation else ""
        state = "on " if row["enabled"] else "off"
        lines.append(
            f"{visible(row['name']):{width}}  {state}  {row['permission_class']:8}  "
            f"{row['source']:8}{asks}  {visible(str(row['description']).splitlines()[0])}"
        )
        indent = " " * (width + 2)
        if row["disabled_reason"]:
            lines.append(f"{indent}why: {visible(row['disabled_reason']['message'])}")
        if row["aliases"]:
            lines.append(f"{indent}also: {', '.join(row['aliases'])}")
    for problem in catalog.problems:
        lines.append(f"not loaded: {visible(problem.name)} ({visible(problem.where)})")
        lines += [f"    {visible(line)}" for line in problem.error.splitlines()]
    return lines
