"""`read_skill`: returns the instructions of a skill."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.core.text import dump_json
from app.domain.skills import SKILLS, Skill, SkillViewer, skills_of
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.shell.transcript import clip
from app.tools.skills.returns import READ_SKILL_RESULT

SkillName = Annotated[str, Field(min_length=1, max_length=64)]
_MAX_CHARS = 60_000
_MAX_LISTED = 100
_MAX_SCHEMA = 6000


class ReadSkillArgs(ToolArgs):
    name: SkillName = Field(description="Name of the skill.")


@tool(
    category="skill",
    toolset="skills",
    kind="read",
    requires=(SKILLS,),
    routing_hint="main-process-proxy",
    tags=("skill", "instructions"),
    argument_aliases={"skill": "name", "skill_name": "name"},
    aliases=(Alias("skill_view"),),
    return_schema=READ_SKILL_RESULT,
)
async def read_skill(args: ReadSkillArgs, ctx: ToolContext) -> ToolResult:
    """Read a skill: its instructions and the list of its files.

    Use it before a task that the skill covers. Returns the body of its SKILL.md; read its other
    files with read_skill_file.
    """
    skill = await skills_of(ctx).load(args.name, SkillViewer.of(ctx))
    files = [{"path": path, "size": len(file.data)} for path, file in sorted(skill.files.items())]
    data = {
        "name": skill.name,
        "id": skill.id,
        "description": skill.description,
        "digest": skill.digest,
        "body": skill.body[:_MAX_CHARS],
        "truncated": len(skill.body) > _MAX_CHARS,
        "files": files,
        "left_out": list(skill.left_out),
        "runs": skill.entry is not None,
        "input_schema": None if skill.entry is None else dict(skill.entry.input_schema),
        "is_trusted": skill.is_trusted,
    }
    return ToolResult.ok(data, text=_text(skill))


def _text(skill: Skill) -> str:
    parts = [f"Skill {skill.name} ({skill.id}): {skill.description}", skill.body[:_MAX_CHARS]]
    if len(skill.body) > _MAX_CHARS:
        parts.append("… the rest: read_skill_file, path SKILL.md")
    others = [path for path in sorted(skill.files) if path != "SKILL.md"]
    if others:
        more = f"\nand {len(others) - _MAX_LISTED} more" if len(others) > _MAX_LISTED else ""
        parts.append("Files:\n" + "\n".join(others[:_MAX_LISTED]) + more)
    if skill.entry is not None:
        parts.append(_how_to_run(skill))
    return "\n\n".join(parts)


def _how_to_run(skill: Skill) -> str:
    assert skill.entry is not None
    schema = skill.entry.input_schema
    message = "Run it with execute_skill."
    if schema:
        message += f" Its args follow this schema: {clip(dump_json(schema).decode(), _MAX_SCHEMA)}"
    if not skill.is_trusted:
        message += (
            f" No operator has enabled this version, so pass digest {skill.digest!r} "
            "to request approval."
        )
    return message
