"""`tollgate tools`: the resolved catalog of this installation, and its switches."""

from __future__ import annotations

from typing import Any, Literal

import typer

from app.bootstrap.container import Runtime
from app.bootstrap.installation import runtime_as_served
from app.catalog.catalog import Catalog
from app.cli.options import print_json
from app.cli.remote_tools import Switch, listed, state_line, switch_served
from app.cli.target import Place, RemoteService, tell_change
from app.core.errors import Conflict, InvalidInput, ToolNotFound
from app.core.escaping import visible
from app.core.text import json_default
from app.governance.agents import TOOLSET
from app.resolver.resolver import ResolvedToolset

ACTOR = "cli"


async def list_tools(place: Place, *, as_json: bool) -> int:
    """Print every tool, and every plugin that failed to load."""
    document = await _document(place)
    if as_json:
        print_json(document, default=json_default)
        return 0
    for line in _lines(document):
        typer.echo(line)
    return 0


async def switch_tools(
    place: Place, names: list[str], *, enabled: bool, agent: str | None, force: bool
) -> int:
    """Enable or disable tools for all agents or one agent: all of the named tools or none.

    A running service applies the change within a second. `toolset:<name>` is a toolset, for all
    agents only.

    Raises:
        InvalidInput: A toolset is combined with other names, or with an agent.
        ToolNotFound: A name is unknown; the message lists all unknown names.
        NotFound: The agent or toolset does not exist.
        Conflict: A core tool would be disabled, and `force` is not set.
    """
    if any(name.startswith(TOOLSET) for name in names) and (len(names) > 1 or agent is not None):
        raise InvalidInput(
            "A toolset must be the only name, and cannot be combined with --agent", field="names"
        )
    switch = Switch(tuple(names), enabled=enabled, agent=agent, force=force)
    if isinstance(place, RemoteService):
        lines = await switch_served(place, switch)
    else:
        async with runtime_as_served(place.settings) as runtime:
            lines = await _switched(runtime, switch)
    for line in lines:
        typer.echo(line)
    tell_change(place)
    return 0


async def _switched(runtime: Runtime, switch: Switch) -> list[str]:
    """Return the new state, one line for each name."""
    if switch.names[0].startswith(TOOLSET):
        await _switch_toolset(runtime, switch)
        return [f"{visible(switch.names[0])}  {'on' if switch.enabled else 'off'}"]
    catalog = runtime.registry.snapshot()
    entries = {name: catalog.lookup(name) for name in switch.names}
    wanted = [entry.tool.name if entry else name for name, entry in entries.items()]
    known = runtime.governance.snapshot.tools
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ToolNotFound(f"Tool not found: {_guesses(catalog, unknown)}", unknown=unknown)
    try:
        await _switch(runtime, wanted, switch)
    except Conflict as error:
        raise Conflict(error.message.replace("`force`", "--force")) from None
    resolved = runtime.resolver.resolve(switch.agent)
    # A tool enabled for an agent may still be disabled for everyone.
    return [
        state_line(
            name,
            resolved.disabled_reasons[name].message if name in resolved.disabled_reasons else None,
            asks=name in resolved.confirmation,
        )
        for name in wanted
    ]


async def _switch_toolset(runtime: Runtime, switch: Switch) -> None:
    toolset = switch.names[0].removeprefix(TOOLSET)
    try:
        await runtime.governance.change_toolset(
            toolset, enabled=switch.enabled, actor=ACTOR, force=switch.force
        )
    except Conflict as error:
        raise Conflict(error.message.replace("`force`", "--force")) from None


def _guesses(catalog: Catalog, unknown: list[str]) -> str:
    """Return the unknown names, each with a suggestion."""
    names = []
    for name in unknown:
        meant = catalog.suggest(name, limit=1)
        names.append(f"{name} (did you mean {meant[0]}?)" if meant else name)
    return ", ".join(names)


async def _switch(runtime: Runtime, names: list[str], switch: Switch) -> None:
    if switch.agent is None:
        await runtime.governance.switch_tools(
            names, enabled=switch.enabled, actor=ACTOR, force=switch.force
        )
        return
    if not switch.enabled:
        runtime.governance.guard_core(names, force=switch.force)
    state: Literal["on", "off"] = "on" if switch.enabled else "off"
    await runtime.agents.switch(switch.agent, names, state=state, actor=ACTOR)


async def _document(place: Place) -> dict[str, Any]:
    if isinstance(place, RemoteService):
        return await listed(place)
    async with runtime_as_served(place.settings) as runtime:
        return as_document(runtime.registry.snapshot(), runtime.resolver.resolve())


def as_document(catalog: Catalog, resolved: ResolvedToolset) -> dict[str, Any]:
    """Return `{tools: [...], problems: [...]}`; each tool with its state, and why it is off."""
    reasons = resolved.disabled_reasons
    tools = [
        {
            **row,
            "enabled": row["name"] not in reasons,
            "disabled_reason": reasons[row["name"]].to_dict() if row["name"] in reasons else None,
            "asks": row["name"] in resolved.confirmation,
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


def _lines(document: dict[str, Any]) -> list[str]:
    rows = document["tools"]
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for row in rows:
        asks = " asks" if row["asks"] else ""
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
    for problem in document["problems"]:
        lines.append(f"not loaded: {visible(problem['name'])} ({visible(problem['where'])})")
        lines += [f"    {visible(line)}" for line in problem["error"].splitlines()]
        if problem.get("at"):
            lines.append(f"    at {visible(problem['at'])}")
        if problem.get("fix"):
            lines.append(f"    fix: {visible(problem['fix'])}")
    return lines
