"""Command definitions of `tollgate skills`; the implementation is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish

skills = typer.Typer(
    help="List the skills of this installation and its projects, and enable or disable them.",
    rich_markup_mode=None,
)

SkillId = Annotated[
    str, typer.Argument(metavar="ID", help="ID of the skill, as printed by the list.")
]


@skills.callback(invoke_without_command=True)
def skills_list(
    context: typer.Context,
    agent: Annotated[
        str | None, typer.Option("--agent", help="ID of the agent to list for.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="ID of a project. [default: the default project]")
    ] = None,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """List all skills, with whether the agent sees each one and why not."""
    if context.invoked_subcommand is not None:
        return
    from app.cli.skills import list_skills
    from app.cli.target import find_place

    place = find_place(data_dir)
    finish(list_skills(place, agent, project, as_json=as_json))


@skills.command("enable")
def skills_enable(skill_id: SkillId, data_dir: DataDir = None) -> None:
    """Enable the current version of a skill for agents."""
    _switch(skill_id, data_dir, enabled=True)


@skills.command("disable")
def skills_disable(skill_id: SkillId, data_dir: DataDir = None) -> None:
    """Disable a skill for all agents."""
    _switch(skill_id, data_dir, enabled=False)


def _switch(skill_id: str, data_dir: Path | None, *, enabled: bool) -> None:
    from app.cli.skills import switch_skill
    from app.cli.target import find_place

    place = find_place(data_dir)
    finish(switch_skill(place, skill_id, enabled=enabled))
