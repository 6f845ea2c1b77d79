"""`tollgate skills`: lists, enables and disables skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from app.bootstrap.installation import local_runtime
from app.cli.options import print_json
from app.cli.target import Place, RemoteService, tell_change
from app.config.settings import Settings
from app.core.escaping import visible
from app.domain.skills import SkillEntry, SkillViewer
from app.execution.projects import DEFAULT_PROJECT

_ACTOR = "cli"


async def list_skills(
    place: Place, agent: str | None, project: str | None, *, as_json: bool
) -> int:
    """Print every skill, and why the agent does not see it.

    Raises:
        NotFound: The agent or project does not exist.
    """
    project = project or DEFAULT_PROJECT
    if isinstance(place, RemoteService):
        rows = await place.pages(
            "skills", "admin", "skills", agent_id=agent, project_id=project, limit=500
        )
    else:
        async with local_runtime(place.settings) as runtime:
            if agent is not None:
                runtime.agents.require(agent)
            rows = [row.to_dict() for row in await runtime.skills.rows(SkillViewer(agent, project))]
    if as_json:
        print_json({"skills": rows})
        return 0
    for row in rows:
        typer.echo(_line(row))
    return 0


async def switch_skill(place: Place, skill_id: str, *, enabled: bool) -> int:
    """Enable the current version of a skill, or disable the skill; print the new state.

    Raises:
        NotFound: The skill does not exist.
        Conflict: The skill cannot be used.
    """
    if isinstance(place, RemoteService):
        body = {"enabled": enabled}
        row = await place.send("PATCH", "admin", "skills", skill_id, body=body)
    else:
        row = (await _switched(place.settings, skill_id, enabled=enabled)).to_dict()
    typer.echo(_line(row))
    tell_change(place)
    return 0


async def _switched(settings: Settings, skill_id: str, *, enabled: bool) -> SkillEntry:
    origin, _, rest = skill_id.partition(":")
    project = rest.rpartition(":")[0] if origin == "project" else None
    async with local_runtime(settings) as runtime:
        viewer = SkillViewer(None, project or None)
        return await runtime.skills.switch(
            skill_id, viewer, enabled=enabled, digest=None, actor=_ACTOR
        )


def _line(row: Mapping[str, Any]) -> str:
    notes = f": {row['reason']}" if row["reason"] else ""
    runs = " (runs)" if row["is_compute"] else ""
    lines = [f"{visible(row['id'])}{runs}  {row['status']}{visible(notes)}"]
    lines += [f"  warning: {visible(_sentence(warning))}" for warning in row["warnings"]]
    return "\n".join(lines)


def _sentence(warning: Any) -> str:
    return str(warning["message"]) if isinstance(warning, dict) else str(warning)
