"""Skills as tools see them, and what they need of them; the composition root binds the services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from app.core.errors import ToolFailed
from app.operations.protocols.files import FileOperations
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext

SKILLS = "skills"
SKILL_RUNS = "skill_runs"
PROJECT_FOLDER = ".tollgate/skills"
"Folder of a project's skills, relative to its root."

Origin = Literal["project", "user", "builtin"]
SkillStatus = Literal[
    "visible",
    "filtered",
    "disabled",
    "untrusted",
    "invalid",
    "missing_requirement",
    "shadowed",
]
NO_SCHEMA: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class SkillViewer:
    """Who looks at skills, and in which project."""

    agent_id: str | None = None
    project_id: str | None = None

    @classmethod
    def of(cls, ctx: ToolContext) -> SkillViewer:
        return cls(ctx.agent_id, ctx.project_id)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """What is wrong with a skill, and on which line of its SKILL.md (from 1), where known.

    `code` says for programs what `message` says for people.
    """

    code: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill; `path` is relative to its folder."""

    path: str
    data: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class ComputeEntry:
    """The program of a skill.

    Attributes:
        command: words of a command line; no shell reads it.
        timeout_s: seconds that it may run.
        input_schema, output_schema: JSON Schemas of objects; empty where none is given.
    """

    command: tuple[str, ...]
    timeout_s: int
    input_schema: Mapping[str, Any] = field(default_factory=lambda: NO_SCHEMA)
    output_schema: Mapping[str, Any] = field(default_factory=lambda: NO_SCHEMA)


@dataclass(frozen=True, slots=True)
class Skill:
    """One version of a skill, read whole: what is shown, run and trusted is these bytes.

    Attributes:
        id: `builtin:<name>`, `user:<name>` or `project:<project id>:<name>`.
        digest: SHA-256 of its files, names and executable bits included.
        is_trusted: it came with the service, or an operator has enabled exactly this version.
        left_out: what lies in its folder and is no part of it, such as links.
    """

    id: str
    name: str
    origin: Origin
    description: str
    body: str
    digest: str
    is_trusted: bool
    files: Mapping[str, SkillFile]
    entry: ComputeEntry | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One skill that was found, and whether a viewer's model sees it.

    Attributes:
        folder: where it lies, for people.
        reason: why it is not visible; None when it is. `reason_code` says it for programs.
        problems: what keeps it from being used; `warnings` what does not.
        missing: requirements that are not met, such as `program ffmpeg`.
        shadowed_by: id of the skill that is used in its place.
        version: of the operator's decision; 0 where there is none.
    """

    id: str
    name: str
    origin: Origin
    folder: str
    description: str
    status: SkillStatus
    reason: str | None
    digest: str | None
    is_trusted: bool
    is_compute: bool = False
    always: bool = False
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    problems: tuple[SkillProblem, ...] = ()
    warnings: tuple[SkillProblem, ...] = ()
    missing: tuple[str, ...] = ()
    shadowed_by: str | None = None
    enabled: bool | None = None
    version: int = 0
    reason_code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As lists and diagnostics show it."""
        plain = {
            name: getattr(self, name)
            for name in (
                *("id", "name", "origin", "folder", "description", "status", "reason", "digest"),
                *("is_trusted", "is_compute", "always", "license", "compatibility"),
                *("shadowed_by", "enabled", "version", "reason_code"),
            )
        }
        return plain | {
            "allowed_tools": list(self.allowed_tools),
            "problems": [str(problem) for problem in self.problems],
            "problem_codes": [problem.code for problem in self.problems],
            "warnings": [str(problem) for problem in self.warnings],
            "warning_codes": [problem.code for problem in self.warnings],
            "missing": list(self.missing),
        }


@runtime_checkable
class Skills(Protocol):
    """The service `SKILLS`. What changes on disk is seen at the next call."""

    @property
    def max_timeout_s(self) -> int:
        """The longest that a skill's program may run."""

    async def rows(self, viewer: SkillViewer) -> Sequence[SkillEntry]:
        """Every skill that is found, by name, the one that is used first."""

    async def load(self, name: str, viewer: SkillViewer) -> Skill:
        """The version that is there now.

        Raises:
            ToolFailed: `skill_not_found`, or `skill_unavailable` with the reason.
        """

    async def load_id(self, skill_id: str, viewer: SkillViewer) -> Skill:
        """A skill by its id, whatever its status, as long as it can be read.

        Raises:
            ToolFailed: `skill_not_found` or `skill_invalid`.
        """

    async def switch(
        self, skill_id: str, viewer: SkillViewer, *, enabled: bool, digest: str | None, actor: str
    ) -> SkillEntry:
        """Enable exactly the version `digest` of a skill, or disable the skill.

        Raises:
            NotFound: there is no such skill.
            DigestMismatch: it is another version by now.
        """

    def is_trusted(self, digest: str) -> bool:
        """Whether an operator has enabled a version with these very bytes."""

    def problems_of(self, name: str, text: str) -> Sequence[SkillProblem]:
        """Everything that the standard does not allow about a SKILL.md."""

    def user_files(self) -> FileOperations:
        """The folder of this installation's skills, for writing."""

    def check(self, schema: Mapping[str, Any], value: Any, what: str) -> None:
        """Hold a value against a schema of a skill.

        Raises:
            InvalidArguments: it does not fit; the message begins with `what`.
        """


@dataclass(frozen=True, slots=True)
class SkillWorkspace:
    """A private folder in which one run of a skill works; gone with the run.

    Attributes:
        operations: bound to the room, in the sandbox, without a network.
        root: its absolute path; in it lie `skill` (the version that runs), `inputs` and `work`.
    """

    operations: Operations
    root: str


SKILL_FOLDER, INPUT_FOLDER, WORK_FOLDER = "skill", "inputs", "work"


@runtime_checkable
class SkillRuns(Protocol):
    """The service `SKILL_RUNS`."""

    def open(
        self, skill: Skill, inputs: Mapping[str, bytes]
    ) -> AbstractAsyncContextManager[SkillWorkspace]:
        """A room with a copy of the skill and of the inputs.

        Raises (on entering): StorageUnavailable; ToolFailed `sandbox_unavailable`.
        """


def skills_of(ctx: ToolContext) -> Skills:
    """The service.

    Raises:
        ToolFailed: it is not bound.
    """
    return ctx.services.require(SKILLS, Skills)  # type: ignore[type-abstract]


def skill_id(origin: Origin, name: str, project_id: str | None) -> str:
    """The id of a skill.

    Raises:
        ToolFailed: `project_required` for a project's skill without a project.
    """
    if origin != "project":
        return f"{origin}:{name}"
    if project_id is None:
        raise ToolFailed("There is no project; use scope 'user'", code="project_required")
    return f"project:{project_id}:{name}"
