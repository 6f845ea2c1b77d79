"""`tollgate skills`: which there are, why an agent does not see one, enabling and disabling."""

from __future__ import annotations

import json

import typer

from app.core.settings import Settings
from app.core.visible import visible
from app.execution.projects import DEFAULT_PROJECT
from app.main import local_gate
from app.tools.skills.ports import SkillRow, Viewer

_ACTOR = "cli"


async def list_skills(
    settings: Settings, agent: str | None, project: str | None, *, as_json: bool
) -> int:
    """Print every skill that is found, and what keeps the agent's model from it.

    Raises:
        NotFound: there is no such agent or project.
    """
    async with local_gate(settings) as gate:
        if agent is not None:
            gate.agents.require(agent)
        rows = await gate.skills.rows(Viewer(agent, project or DEFAULT_PROJECT))
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows], indent=2, ensure_ascii=False))
        return 0
    for row in rows:
        typer.echo(_line(row))
    return 0


async def switch_skill(settings: Settings, skill_id: str, *, enabled: bool) -> int:
    """Enable the version of a skill that is there now, or disable the skill; print what holds.

    Raises:
        NotFound: there is no such skill.
        Conflict: it cannot be used.
    """
    origin, _, rest = skill_id.partition(":")
    project = rest.rpartition(":")[0] if origin == "project" else None
    async with local_gate(settings) as gate:
        viewer = Viewer(None, project or None)
        row = await gate.skills.switch(skill_id, viewer, enabled=enabled, digest=None, actor=_ACTOR)
    typer.echo(_line(row))
    return 0


def _line(row: SkillRow) -> str:
    notes = f": {row.reason}" if row.reason else ""
    runs = " (runs)" if row.is_compute else ""
    told = [f"{visible(row.id)}{runs}  {row.status}{visible(notes)}"]
    told += [f"  warning: {visible(str(warning))}" for warning in row.warnings]
    return "\n".join(told)
