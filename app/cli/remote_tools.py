"""`tollgate tools …` through a running service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.cli.service_errors import CommandRefused
from app.cli.target import RemoteService
from app.core.errors import Conflict, ToolNotFound
from app.core.escaping import visible
from app.governance.agents import TOOLSET


@dataclass(frozen=True, slots=True)
class Switch:
    """Switch options from the command line; an `agent` of None means all agents."""

    names: tuple[str, ...]
    enabled: bool
    agent: str | None = None
    force: bool = False


def state_line(name: str, why_off: str | None, *, asks: bool) -> str:
    """Return the state of a tool as one line."""
    on = "on, always asks" if asks else "on"
    return f"{visible(name)}  {on if why_off is None else f'off: {visible(why_off)}'}"


async def listed(service: RemoteService) -> dict[str, Any]:
    """Return every tool with its state, and every plugin that failed to load."""
    catalog = await service.get("tools")
    rows = (await service.get("toolset"))["runtime_diagnostic"]["tools"]
    asks = {row["name"] for row in rows if row["asks"]}
    tools = [
        {**row, "asks": row["name"] in asks} for row in catalog["tools"] if row["alias_of"] is None
    ]
    return {"tools": tools, "problems": catalog["problems"]}


async def switch_served(service: RemoteService, switch: Switch) -> list[str]:
    """Enable or disable tools of a service; return the new state, one line for each name.

    Raises:
        ToolNotFound: A name is unknown; the message lists all unknown names.
        Conflict: A core tool would be disabled, and `force` is not set.
        CommandRefused: The agent or toolset does not exist, or the token lacks permission.
    """
    try:
        if switch.names[0].startswith(TOOLSET):
            body: dict[str, Any] = {"enabled": switch.enabled, "force": switch.force}
            toolset = switch.names[0].removeprefix(TOOLSET)
            await service.send("PATCH", "admin", "toolsets", toolset, body=body)
            return [f"{visible(switch.names[0])}  {'on' if switch.enabled else 'off'}"]
        names = await _own_names(service, switch.names)
        if switch.agent is None:
            body = {"names": names, "enabled": switch.enabled, "force": switch.force}
            await service.send("POST", "admin", "tools", "switch", body=body)
        else:
            await _override(service, switch.agent, names, switch)
    except CommandRefused as error:
        if error.error.get("code") == "conflict":
            raise Conflict(error.message.replace("`force`", "--force")) from None
        raise
    rows = await service.get("toolset", agent_id=switch.agent)
    states = {row["name"]: row for row in rows["runtime_diagnostic"]["tools"]}
    return [
        state_line(
            name,
            states[name]["reason"]["message"] if states[name]["reason"] else None,
            asks=states[name]["asks"],
        )
        for name in names
    ]


async def _own_names(service: RemoteService, names: tuple[str, ...]) -> list[str]:
    """Resolve names and aliases to tool names; fail if one is unknown."""
    catalog = (await service.get("tools"))["tools"]
    own = {row["name"]: row["alias_of"] or row["name"] for row in catalog}
    # Governance also knows tools missing in the catalog.
    lost = {row["name"] for row in await service.pages("tools", "admin", "tools", state="absent")}
    unknown = [name for name in names if name not in own and name not in lost]
    if unknown:
        guesses = [f"{name}{await _guess(service, name)}" for name in unknown]
        raise ToolNotFound(f"Tool not found: {', '.join(guesses)}", unknown=unknown)
    return list(dict.fromkeys(own.get(name, name) for name in names))


async def _guess(service: RemoteService, name: str) -> str:
    try:
        await service.get("tools", name)
    except CommandRefused as error:
        meant = error.error["details"].get("suggestions") or []
        return f" (did you mean {meant[0]}?)" if meant else ""
    return ""


async def _override(service: RemoteService, agent: str, names: list[str], switch: Switch) -> None:
    """Switch all of them in one change of the agent."""
    stored = await service.get("admin", "agents", agent)
    tools: dict[str, Any] = stored["profile"]["tools"]
    state = "on" if switch.enabled else "off"
    changed = {name: {**tools.get(name, {}), "state": state} for name in names}
    body = {"tools": tools | changed, "force": switch.force}
    await service.send("PATCH", "admin", "agents", agent, body=body, version=stored["version"])
