"""`read_skill_file`: returns one file of a skill."""

from __future__ import annotations

from posixpath import normpath

from pydantic import Field

from app.core.errors import OutsideWorkspace, ToolFailed
from app.domain.skills import SKILLS, Skill, SkillFile, SkillViewer, skills_of
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.skills.read_skill import SkillName
from app.tools.skills.returns import READ_SKILL_FILE_RESULT

_MAX_CHARS = 40_000


class ReadSkillFileArgs(ToolArgs):
    name: SkillName = Field(description="Name of the skill.")
    path: PathText = Field(description="Its path, such as references/guide.md.")
    offset: int = Field(default=1, ge=1, le=10_000_000, description="First line, from 1.")
    limit: int = Field(default=1000, ge=1, le=5000, description="Maximum lines.")


@tool(
    category="skill",
    toolset="skills",
    kind="read",
    requires=(SKILLS,),
    routing_hint="main-process-proxy",
    tags=("skill", "instructions"),
    argument_aliases={"skill": "name", "skill_name": "name", "file_path": "path"},
    return_schema=READ_SKILL_FILE_RESULT,
)
async def read_skill_file(args: ReadSkillFileArgs, ctx: ToolContext) -> ToolResult:
    """Read a text file of a skill: a reference, a template, the source of a script.

    Paths are relative to the skill's folder; files outside it cannot be read.
    """
    skill = await skills_of(ctx).load(args.name, SkillViewer.of(ctx))
    file = _file(skill, args.path)
    try:
        lines = file.data.decode().split("\n")
    except UnicodeDecodeError:
        raise ToolFailed(
            f"{file.path!r} is not text ({len(file.data)} bytes); scripts of the skill can use it",
            code="binary_file",
        ) from None
    total = len(lines) - (lines[-1] == "")
    chosen = lines[args.offset - 1 : min(args.offset - 1 + args.limit, total)]
    text = "\n".join(chosen)
    cut = len(text) > _MAX_CHARS
    end = args.offset + len(chosen) - 1
    data = {
        "name": skill.name,
        "path": file.path,
        "content": text[:_MAX_CHARS],
        "start": args.offset,
        "end": end,
        "total_lines": total,
        "truncated": cut or end < total,
        "digest": skill.digest,
    }
    head = f"[Skill: {skill.name} | File: {file.path} | Lines: {total}"
    head += f" | Showing: {args.offset}-{end}]" if chosen else " | Showing: none]"
    return ToolResult.ok(data, text=f"{head}\n{text[:_MAX_CHARS]}{' … (truncated)' if cut else ''}")


def _file(skill: Skill, path: str) -> SkillFile:
    """Return a file of the loaded version, without reading the disk again.

    Raises:
        OutsideWorkspace: the path leads out of the skill.
        ToolFailed: `file_not_found`.
    """
    inner = normpath(path)
    if path.startswith(("/", "~")) or "\0" in path or inner == ".." or inner.startswith("../"):
        raise OutsideWorkspace(path)
    file = skill.files.get(inner)
    if file is None:
        there = ", ".join(sorted(skill.files)[:50])
        raise ToolFailed(
            f"The skill {skill.name!r} has no file {path[:200]!r}. Its files: {there}",
            code="file_not_found",
        )
    return file
