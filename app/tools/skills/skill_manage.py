"""`skill_manage`: creates, changes, deletes and switches skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.skills import (
    PROJECT_FOLDER,
    SKILLS,
    SkillEntry,
    SkillViewer,
    skill_id,
    skills_of,
)
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.skills.returns import SKILL_MANAGE_RESULT
from app.tools.skills.writer import SkillWriter

Action = Literal[
    "list", "create", "edit", "patch", "delete", "write_file", "remove_file", "enable", "disable"
]
MAX_CONTENT = 256 << 10
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "create": ("name", "content"),
    "edit": ("name", "content"),
    "patch": ("name", "old_string", "new_string"),
    "delete": ("name",),
    "write_file": ("name", "file_path", "file_content"),
    "remove_file": ("name", "file_path"),
    "enable": ("name", "digest"),
    "disable": ("name",),
}
_SWITCHES = ("enable", "disable")


class SkillManageArgs(ToolArgs):
    action: Action = Field(description="What to do.")
    name: str | None = Field(
        default=None,
        max_length=64,
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="Name of the skill: a-z, 0-9 and single hyphens.",
    )
    scope: Literal["project", "user", "builtin"] = Field(
        default="project",
        description="project: in the workspace; user: for every project (asks); builtin: only "
        "enable or disable.",
    )
    content: str | None = Field(
        default=None, max_length=MAX_CONTENT, description="create, edit: full SKILL.md."
    )
    old_string: str | None = Field(
        default=None, min_length=1, max_length=MAX_CONTENT, description="patch: text to replace."
    )
    new_string: str | None = Field(
        default=None, max_length=MAX_CONTENT, description="patch: replacement."
    )
    replace_all: bool = Field(default=False, description="patch: replace all.")
    category: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$",
        description="create: stored as metadata.category.",
    )
    file_path: PathText | None = Field(
        default=None,
        description="write_file, remove_file, patch: below scripts/, references/, assets/ or"
        " templates/.",
    )
    file_content: str | None = Field(
        default=None, max_length=1 << 20, description="write_file: full content."
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="enable: digest of the version, from `list`.",
    )

    @model_validator(mode="after")
    def _complete(self) -> SkillManageArgs:
        missing = [name for name in _NEEDS.get(self.action, ()) if getattr(self, name) is None]
        if missing:
            raise FieldError(
                f"action {self.action} requires {', '.join(missing)}",
                code="needs",
                given=self.action,
                needed=", ".join(missing),
            )
        if self.scope == "builtin" and self.action not in ("list", *_SWITCHES):
            raise FieldError(
                "built-in skills cannot be changed, only enabled or disabled", code="only_switched"
            )
        return self


def confirmation_reason(args: SkillManageArgs, _: Services) -> str | None:
    """Return why the call needs approval, or None."""
    if args.action == "enable":
        return (
            f"allows agents to follow and run the skill {args.name!r}, version "
            f"{(args.digest or '')[:12]}"
        )
    if args.action == "disable":
        return f"prevents all agents from using the skill {args.name!r}"
    if args.scope == "user" and args.action != "list":
        return f"it changes the skill {args.name!r} for every agent and project"
    return None


def paths_in(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return the paths written in the workspace, for rules on paths."""
    name = arguments.get("name")
    if arguments.get("scope", "project") != "project" or not isinstance(name, str):
        return ()
    return (f"{PROJECT_FOLDER}/{name}/{arguments.get('file_path') or 'SKILL.md'}",)


@tool(
    category="skill",
    toolset="skills",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    requires=(SKILLS,),
    routing_hint="main-process-proxy",
    asks=confirmation_reason,
    paths_in=paths_in,
    tags=("skill", "write"),
    argument_aliases={"old_text": "old_string", "new_text": "new_string", "skill": "name"},
    return_schema=SKILL_MANAGE_RESULT,
)
async def skill_manage(args: SkillManageArgs, ctx: ToolContext) -> ToolResult:
    """List, create, change, delete, enable or disable skills; list shows why one is unusable.

    Follow the SKILL.md standard. A project skill is available only after a person has enabled it:
    use action enable with the digest that list returns.
    """
    if args.action == "list":
        return _listed(await skills_of(ctx).rows(SkillViewer.of(ctx)), args.name)
    assert args.name is not None
    if args.action in _SWITCHES:
        return await _switched(args, args.name, ctx)
    return await _written(args, args.name, ctx)


async def _switched(args: SkillManageArgs, name: str, ctx: ToolContext) -> ToolResult:
    row = await skills_of(ctx).switch(
        skill_id(args.scope, name, ctx.project_id),
        SkillViewer.of(ctx),
        enabled=args.action == "enable",
        digest=args.digest,
        actor=ctx.user_id or f"agent:{ctx.agent_id or 'default'}",
    )
    return ToolResult.ok(row.to_dict(), text=_line(row))


async def _written(args: SkillManageArgs, name: str, ctx: ToolContext) -> ToolResult:
    skills = skills_of(ctx)
    if args.scope == "user":
        writer = SkillWriter(skills, skills.user_files(), name, name)
    else:
        files = ctx.operations.files
        writer = SkillWriter(skills, files, name, f"{PROJECT_FOLDER}/{name}")
    changed = await writer.work(
        args, SkillViewer.of(ctx), skill_id(args.scope, name, ctx.project_id)
    )
    rows = await skills.rows(SkillViewer.of(ctx))
    wanted = skill_id(args.scope, name, ctx.project_id)
    row = next((row for row in rows if row.id == wanted), None)
    data = {"action": args.action, "name": name, "scope": args.scope, "changed": changed}
    message = f"{args.action}: {', '.join(changed)}"
    if row is None:
        return ToolResult.ok(data, text=message)
    return ToolResult.ok(data | {"skill": row.to_dict()}, text=f"{message}\n{_line(row)}")


def _listed(rows: Sequence[SkillEntry], name: str | None) -> ToolResult:
    chosen = [row for row in rows if name is None or row.name == name]
    text = "\n".join(map(_line, chosen)) or "No skills"
    return ToolResult.ok({"skills": [_row_data(row) for row in chosen]}, text=text)


def _row_data(row: SkillEntry) -> dict[str, Any]:
    """Return the text for the model, without a skill's own words before it is enabled."""
    fields = row.to_dict()
    if row.status in ("visible", "missing_requirement"):
        return fields
    return fields | {
        "description": "",
        "license": None,
        "compatibility": None,
        "allowed_tools": [],
        "problems": fields["problems"][:1],
        "warnings": [],
    }


def _line(row: SkillEntry) -> str:
    why = f" ({row.reason})" if row.reason else ""
    description = f": {row.description}" if row.status == "visible" else ""
    version = f", digest {row.digest}" if row.digest else ""
    shown = row.warnings if row.status == "visible" else ()
    warnings = "".join(f"\n  warning: {warning}" for warning in shown)
    return f"- {row.name} [{row.id}] {row.status}{why}{description}{version}{warnings}"
