"""Skills with their visibility, and the versions that may be used."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import Conflict, DigestMismatch, NotFound
from app.domain.skills import SkillEntry, SkillViewer
from app.knowledge.skills.finder import FoundSkill

router = routes_of("admin", below="/admin")
skills = Crud(router, "skills", "skill_id")

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_SKILL: dict[str, Any] = {
    "id": "project:prj_1:release-notes",
    "name": "release-notes",
    "origin": "project",
    "folder": ".tollgate/skills",
    "description": "Writes release notes from the log.",
    "status": "untrusted",
    "reason": "it has changed since an operator enabled it",
    "reason_code": "skill_altered",
    "digest": _DIGEST,
    "is_trusted": False,
    "is_compute": False,
    "always": False,
    "license": None,
    "compatibility": None,
    "allowed_tools": [],
    "problems": [],
    "problem_codes": [],
    "warnings": ["line 3: description is longer than 1024 characters"],
    "warning_codes": ["skill_description_long"],
    "missing": [],
    "shadowed_by": None,
    "enabled": True,
    "version": 1,
}
MAX_BODY = 262_144
AgentQuery = Annotated[
    str | None,
    Query(max_length=128, description="Agent to list for; omit it to list without an agent."),
]
ProjectQuery = Annotated[
    str | None, Query(max_length=128, description="Project whose skills are included.")
]


class AdminSkill(BaseModel):
    """A skill, with its visibility to the agent's model."""

    model_config = example(**_SKILL)

    id: str
    name: str
    origin: Literal["project", "user", "builtin"]
    folder: str
    description: str
    status: Literal[
        "visible",
        "filtered",
        "disabled",
        "untrusted",
        "invalid",
        "missing_requirement",
        "shadowed",
    ]
    reason: str | None = Field(description="Reason why it is not visible; null if it is visible.")
    reason_code: str | None = Field(description="Stable code for `reason`.")
    digest: str | None = Field(description="SHA-256 of the current version.")
    is_trusted: bool = Field(description="Whether this version is built in or enabled.")
    is_compute: bool = Field(description="Whether it has a program for `execute_skill`.")
    always: bool = Field(description="Whether its instructions are part of every system prompt.")
    license: str | None
    compatibility: str | None
    allowed_tools: list[str] = Field(description="Its declared tools; they grant no permission.")
    problems: list[str]
    problem_codes: list[str] = Field(description="Stable codes for `problems`, in the same order.")
    warnings: list[str]
    warning_codes: list[str] = Field(description="Stable codes for `warnings`, in the same order.")
    missing: list[str] = Field(description="Missing programs and variables.")
    shadowed_by: str | None
    enabled: bool | None = Field(description="Decision of the operator; null if there is none.")
    version: int = Field(description="Version of that decision; 0 if there is none.")

    @classmethod
    def of(cls, row: SkillEntry) -> Self:
        return cls(**row.to_dict())


class SkillFileView(BaseModel):
    """A file of a skill."""

    model_config = example(path="SKILL.md", size=812, is_executable=False)

    path: str
    size: int
    is_executable: bool


class AdminSkillDetail(AdminSkill):
    """A skill with its instructions and files."""

    model_config = example(
        **_SKILL,
        body="# Release notes\n",
        command=None,
        files=[{"path": "SKILL.md", "size": 812, "is_executable": False}],
        left_out=[],
    )

    body: str
    command: list[str] | None = Field(description="Program that `execute_skill` would run.")
    files: list[SkillFileView]
    left_out: list[str] = Field(description="Files in its folder that are not part of it.")

    @classmethod
    def whole(cls, row: SkillEntry, found: FoundSkill) -> Self:
        files = {} if found.contents is None else found.contents.files
        entry = found.document.entry
        return cls(
            **row.to_dict(),
            body=found.document.body[:MAX_BODY],
            command=None if entry is None else list(entry.command),
            files=[
                SkillFileView(path=path, size=len(file.data), is_executable=file.is_executable)
                for path, file in sorted(files.items())
            ],
            left_out=list(found.left_out),
        )


class AdminSkillPage(BaseModel):
    """Skills by name; among equal names, the one in use comes first."""

    model_config = example(skills=[_SKILL], total=1, next_after=None)

    skills: list[AdminSkill]
    total: int
    next_after: int | None = Field(default=None, description="Cursor: `after` of the next page.")


class SkillChange(Body):
    """Enable exactly one version of a skill, or disable the skill."""

    model_config = example(enabled=True, digest=_DIGEST)

    enabled: bool
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="Digest of the reviewed version; refused if the skill has changed since.",
    )


@router.get("/skills", summary="List skills with their status", responses=problems(NotFound))
async def list_governed_skills(
    service: ServiceDep,
    principal: Admin,
    agent_id: AgentQuery = None,
    project_id: ProjectQuery = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        int, Query(ge=0, le=1_000_000, description="`next_after` of the previous page.")
    ] = 0,
) -> AdminSkillPage:
    """Scope `admin`. All skills, with the reasons why this agent's model does not see some."""
    rows = list(await service.skills.rows(_viewer(service, agent_id, project_id)))
    end = after + limit
    return AdminSkillPage(
        skills=[AdminSkill.of(row) for row in rows[after:end]],
        total=len(rows),
        next_after=end if len(rows) > end else None,
    )


@skills.read("Get a skill")
async def get_governed_skill(
    skill_id: PathId,
    service: ServiceDep,
    principal: Admin,
    agent_id: AgentQuery = None,
) -> AdminSkillDetail:
    """Scope `admin`. Returns the instructions, files, program and problems of a skill."""
    viewer = _viewer(service, agent_id, _project_of(skill_id))
    row, found = await service.skills.row(skill_id, viewer)
    return AdminSkillDetail.whole(row, found)


@skills.change("Enable a version of a skill, or disable the skill", Conflict, DigestMismatch)
async def switch_skill(
    skill_id: PathId,
    body: SkillChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminSkill:
    """Scope `admin`. Agents may follow and run an enabled version until the skill changes."""
    row = await service.skills.switch(
        skill_id,
        _viewer(service, None, _project_of(skill_id)),
        enabled=body.enabled,
        digest=body.digest,
        actor=principal.user_id,
        expected=expected,
    )
    return AdminSkill.of(row)


def _viewer(service: Service, agent_id: str | None, project_id: str | None) -> SkillViewer:
    """Return the agent and project of a request.

    Raises:
        NotFound: the agent or project does not exist.
    """
    if agent_id is not None:
        service.agents.require(agent_id)
    if project_id is not None:
        service.projects.about(project_id)
    return SkillViewer(agent_id, project_id)


def _project_of(skill_id: str) -> str | None:
    """Return the project in the ID of a skill, or None."""
    origin, _, rest = skill_id.partition(":")
    return (rest.rpartition(":")[0] or None) if origin == "project" else None
