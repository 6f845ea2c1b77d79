"""`tollgate tools`: the catalog as this installation resolves it, and its switches."""

from __future__ import annotations

import json
from typing import Any, Literal

import typer

from app.catalog.catalog import Catalog
from app.core.errors import Conflict, InvalidInput, ToolNotFound
from app.core.settings import Settings
from app.core.text import json_default
from app.core.visible import visible
from app.execution.setup import Gate
from app.governance.agents import TOOLSET
from app.main import gate_as_served
from app.resolver.resolver import ResolvedToolset

ACTOR = "cli"


async def list_tools(settings: Settings, *, as_json: bool) -> int:
    """Print every tool and every plugin that could not be loaded."""
    async with gate_as_served(settings) as gate:
        catalog, resolved = gate.registry.snapshot(), gate.resolver.resolve()
    if as_json:
        typer.echo(json.dumps(as_document(catalog, resolved), indent=2, default=json_default))
        return 0
    for line in _lines(catalog, resolved):
        typer.echo(line)
    return 0


async def switch_tools(
    settings: Settings, names: list[str], *, enabled: bool, agent: str | None, force: bool
) -> int:
    """Switch tools for everybody, or for one agent: all that are named, or none.

    A running service uses it within a second. `toolset:<name>` is a toolset, for everybody.

    Raises:
        InvalidInput: a toolset stands beside others, or is meant for one agent.
        ToolNotFound: a name is no tool; the message lists every such name.
        NotFound: there is no such agent, or no such toolset.
        Conflict: a core tool would be switched off, and `force` is not set.
    """
    async with gate_as_served(settings) as gate:
        if any(name.startswith(TOOLSET) for name in names):
            await _switch_toolset(gate, names, enabled=enabled, agent=agent, force=force)
            return 0
        catalog = gate.registry.snapshot()
        entries = {name: catalog.lookup(name) for name in names}
        wanted = [entry.tool.name if entry else name for name, entry in entries.items()]
        known = gate.governance.snapshot.tools
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise ToolNotFound(f"Tool not found: {_guesses(catalog, unknown)}", unknown=unknown)
        try:
            await _switch(gate, wanted, enabled=enabled, agent=agent, force=force)
        except Conflict as error:
            raise Conflict(error.message.replace("`force`", "--force")) from None
        resolved = gate.resolver.resolve(agent)
    for name in wanted:
        reason = resolved.disabled_reasons.get(name)
        on = "on, asks every time" if name in resolved.confirmation else "on"
        # Switched on for an agent, a tool may still be off for everybody.
        told = on if reason is None else f"off: {reason.message}"
        typer.echo(f"{visible(name)}  {visible(told)}")
    return 0


async def _switch_toolset(
    gate: Gate, names: list[str], *, enabled: bool, agent: str | None, force: bool
) -> None:
    if len(names) > 1 or agent is not None:
        raise InvalidInput("name a toolset alone, and for everybody", field="names")
    toolset = names[0].removeprefix(TOOLSET)
    try:
        await gate.governance.change_toolset(toolset, enabled=enabled, actor=ACTOR, force=force)
    except Conflict as error:
        raise Conflict(error.message.replace("`force`", "--force")) from None
    typer.echo(f"{visible(names[0])}  {'on' if enabled else 'off'}")


def _guesses(catalog: Catalog, unknown: list[str]) -> str:
    """Unknown names, each with what may have been meant."""
    told = []
    for name in unknown:
        meant = catalog.suggest(name, limit=1)
        told.append(f"{name} (did you mean {meant[0]}?)" if meant else name)
    return ", ".join(told)


async def _switch(
    gate: Gate, names: list[str], *, enabled: bool, agent: str | None, force: bool
) -> None:
    if agent is None:
        await gate.governance.switch_tools(names, enabled=enabled, actor=ACTOR, force=force)
        return
    if not enabled:
        gate.governance.guard_core(names, force=force)
    state: Literal["on", "off"] = "on" if enabled else "off"
    await gate.agents.switch(agent, names, state=state, actor=ACTOR)


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
        {
            "name": item.name,
            "where": item.where,
            "at": item.at,
            "code": item.code,
            "error": item.error,
            "fix": item.fix,
        }
        for item in catalog.problems
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
        if problem.at:
            lines.append(f"    at {visible(problem.at)}")
        lines.append(f"    fix: {visible(problem.fix)}")
    return lines
