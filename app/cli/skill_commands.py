"""The words of `tollgate skills`; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish

skills = typer.Typer(
    help="Skills of this installation and its projects, and their switches.", rich_markup_mode=None
)

SkillId = Annotated[str, typer.Argument(metavar="ID", help="Id of the skill, as the list has it.")]


@skills.callback(invoke_without_command=True)
def skills_list(
    context: typer.Context,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Id of an agent, whose list counts.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Id of a project; the default one when not given.")
    ] = None,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """List every skill: whether an agent's model sees it, and why not."""
    if context.invoked_subcommand is not None:
        return
    from app.cli.place import find_place
    from app.cli.skills import list_skills

    place = find_place(data_dir)
    finish(list_skills(place, agent, project, as_json=as_json))


@skills.command("enable")
def skills_enable(skill_id: SkillId, data_dir: DataDir = None) -> None:
    """Let agents follow and run a skill in the version that is there now."""
    _switch(skill_id, data_dir, enabled=True)


@skills.command("disable")
def skills_disable(skill_id: SkillId, data_dir: DataDir = None) -> None:
    """Let no agent use a skill."""
    _switch(skill_id, data_dir, enabled=False)


def _switch(skill_id: str, data_dir: Path | None, *, enabled: bool) -> None:
    from app.cli.place import find_place
    from app.cli.skills import switch_skill

    place = find_place(data_dir)
    finish(switch_skill(place, skill_id, enabled=enabled))
