"""Skills as seen by tools, and their services."""

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
"""Folder of a project's skills, relative to its root."""

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
    """Viewer of skills, with the project."""

    agent_id: str | None = None
    project_id: str | None = None

    @classmethod
    def of(cls, ctx: ToolContext) -> SkillViewer:
        return cls(ctx.agent_id, ctx.project_id)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Problem of a skill, with its line in SKILL.md (from 1), if known.

    `code` is the stable code of `message`.
    """

    code: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class SkillFile:
    """File of a skill; `path` is relative to its folder."""

    path: str
    data: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class ComputeEntry:
    """The program of a skill.

    Attributes:
        command: words of a command line, without a shell.
        timeout_s: timeout in seconds.
        input_schema, output_schema: JSON Schemas of objects; empty if not given.
    """

    command: tuple[str, ...]
    timeout_s: int
    input_schema: Mapping[str, Any] = field(default_factory=lambda: NO_SCHEMA)
    output_schema: Mapping[str, Any] = field(default_factory=lambda: NO_SCHEMA)


@dataclass(frozen=True, slots=True)
class Skill:
    """One version of a skill, read completely: exactly these bytes are shown, run and trusted.

    Attributes:
        id: `builtin:<name>`, `user:<name>` or `project:<project id>:<name>`.
        digest: SHA-256 of its files, including names and executable bits.
        is_trusted: it is built in, or an operator has enabled exactly this version.
        left_out: entries in its folder that are ignored, such as links.
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
    """Skill that was found, and whether a viewer's model sees it.

    Attributes:
        folder: its folder, for people.
        reason: why it is not visible, or None. `reason_code` is for programs.
        problems: errors that prevent its use; `warnings` do not.
        missing: unmet requirements, such as `program ffmpeg`.
        shadowed_by: ID of the skill used instead.
        version: version of the operator's decision; 0 if there is none.
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
        """Return the form in lists and diagnostics."""
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
    """Service `SKILLS`. Changes on disk apply from the next call."""

    @property
    def max_timeout_s(self) -> int:
        """Return the maximum timeout of a skill's program, in seconds."""

    async def rows(self, viewer: SkillViewer) -> Sequence[SkillEntry]:
        """Return every skill found, by name, the effective one first."""

    async def load(self, name: str, viewer: SkillViewer) -> Skill:
        """Load the current version.

        Raises:
            ToolFailed: `skill_not_found`, or `skill_unavailable` with the reason.
        """

    async def load_id(self, skill_id: str, viewer: SkillViewer) -> Skill:
        """Load a skill by ID, whatever its status, if it is readable.

        Raises:
            ToolFailed: `skill_not_found` or `skill_invalid`.
        """

    async def switch(
        self, skill_id: str, viewer: SkillViewer, *, enabled: bool, digest: str | None, actor: str
    ) -> SkillEntry:
        """Enable exactly the version `digest` of a skill, or disable the skill.

        Raises:
            NotFound: the skill does not exist.
            DigestMismatch: it now has another version.
        """

    def is_trusted(self, digest: str) -> bool:
        """Return whether an operator has enabled a version with exactly these bytes."""

    def problems_of(self, name: str, text: str) -> Sequence[SkillProblem]:
        """Return every violation of the standard in a SKILL.md."""

    def user_files(self) -> FileOperations:
        """Return the folder of this installation's skills, for writing."""

    def check(self, schema: Mapping[str, Any], value: Any, what: str) -> None:
        """Validate a value against a schema of a skill.

        Raises:
            InvalidArguments: it is invalid; the message starts with `what`.
        """


@dataclass(frozen=True, slots=True)
class SkillWorkspace:
    """Private folder of one run of a skill, deleted after the run.

    Attributes:
        operations: operations in this folder, in the sandbox, without network.
        root: its absolute path; it contains `skill` (the version that runs), `inputs` and `work`.
    """

    operations: Operations
    root: str


SKILL_FOLDER, INPUT_FOLDER, WORK_FOLDER = "skill", "inputs", "work"


@runtime_checkable
class SkillRuns(Protocol):
    """Service `SKILL_RUNS`."""

    def open(
        self, skill: Skill, inputs: Mapping[str, bytes]
    ) -> AbstractAsyncContextManager[SkillWorkspace]:
        """Create a workspace with a copy of the skill and the inputs.

        Raises (on entering): StorageUnavailable; ToolFailed `sandbox_unavailable`.
        """


def skills_of(ctx: ToolContext) -> Skills:
    """Return the service.

    Raises:
        ToolFailed: it is not available.
    """
    return ctx.services.require(SKILLS, Skills)  # type: ignore[type-abstract]


def skill_id(origin: Origin, name: str, project_id: str | None) -> str:
    """Return the ID of a skill.

    Raises:
        ToolFailed: `project_required` for a project's skill without a project.
    """
    if origin != "project":
        return f"{origin}:{name}"
    if project_id is None:
        raise ToolFailed("There is no project; use scope 'user'", code="project_required")
    return f"project:{project_id}:{name}"
