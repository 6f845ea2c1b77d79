"""Skill service: all skills, and those visible to a viewer's model.

Skills of a project are written by its authors, including agents. They are neither shown nor used
before an operator has enabled exactly the present version.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from app.config.skills import SkillSettings
from app.core.errors import Conflict, DigestMismatch, NotFound, ToolFailed
from app.core.text import truncate
from app.domain.skills import (
    PROJECT_FOLDER,
    Skill,
    SkillEntry,
    SkillProblem,
    SkillStatus,
    SkillViewer,
)
from app.knowledge.skills.document import check_value, is_name, read_document
from app.knowledge.skills.finder import Finder, FoundSkill
from app.knowledge.skills.locations import BUILTIN, SkillLocation
from app.knowledge.skills.store import SkillStore
from app.operations.local.beneath import Beneath
from app.operations.local.environment import SAFE_PATH
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.local.threads import in_thread
from app.operations.protocols.files import FileOperations

AllowedSkills = Callable[[str | None], tuple[str, ...] | None]

MAX_DESCRIPTION = 300
_MAX_ALWAYS = 4000
_INTRODUCTION = (
    "Skills are instructions for specific tasks. Before such a task, read the skill with"
    " read_skill; run those marked (runs) with execute_skill."
)


class _Reason(NamedTuple):
    """Reason why a skill is not visible, for programs and for people."""

    code: str
    message: str


_DISABLED = _Reason(code="skill_disabled", message="an operator has disabled it")


class SkillService:
    """`Skills` in folders of this machine.

    Args:
        folder: the installation's own skills.
        hidden: real paths of the service's own folders, excluded for projects.
        root_of: project id → its root; raises `NotFound`.
        allowed: agent ID → names of allowed skills; None for all.
    """

    def __init__(
        self,
        settings: SkillSettings,
        store: SkillStore,
        *,
        folder: Path,
        hidden: Sequence[str],
        root_of: Callable[[str], str],
        allowed: AllowedSkills,
    ) -> None:
        self._settings = settings
        self._store = store
        self._folder = folder
        self._root_of = root_of
        self._allowed = allowed
        self._finder = Finder(hidden)
        self._queue = WriteQueue()
        self._files: FileOperations | None = None

    @property
    def max_timeout_s(self) -> int:
        return self._settings.max_timeout_s

    async def load_decisions(self) -> None:
        """Load the operators' decisions."""
        await self._store.load()

    async def rows(self, viewer: SkillViewer) -> Sequence[SkillEntry]:
        places = self._places(viewer)
        return [row for row, _ in await in_thread(self._judged, places, viewer)]

    async def load(self, name: str, viewer: SkillViewer) -> Skill:
        places = self._places(viewer)
        judged = await in_thread(self._judged, places, viewer, fresh=name)
        same = [(row, found) for row, found in judged if row.name == name]
        for row, found in same:
            if row.status == "visible":
                return _skill(row, found)
        # For a skill that is not enabled, a model only learns that it exists.
        if same:
            row = same[0][0]
            raise ToolFailed(
                f"The skill {name!r} is unusable ({row.status}): {row.reason}",
                code="skill_unavailable",
                status=row.status,
            )
        there = [row.name for row, _ in judged if row.status == "visible"]
        known = f"Available skills: {', '.join(there[:50])}" if there else "No skills are available"
        raise ToolFailed(f"Skill {name[:80]!r} not found. {known}", code="skill_not_found")

    async def load_id(self, skill_id: str, viewer: SkillViewer) -> Skill:
        row, found = await self._find_id(skill_id, viewer)
        if found.contents is None or row.problems:
            raise ToolFailed(
                f"Cannot read the skill {skill_id!r}: {row.reason}", code="skill_invalid"
            )
        return _skill(row, found)

    async def row(self, skill_id: str, viewer: SkillViewer) -> tuple[SkillEntry, FoundSkill]:
        """Return a skill in its current state, including its problems.

        Raises:
            NotFound: the skill does not exist.
        """
        try:
            return await self._find_id(skill_id, viewer)
        except ToolFailed as error:
            raise NotFound(error.message, skill_id=skill_id) from None

    async def switch(
        self,
        skill_id: str,
        viewer: SkillViewer,
        *,
        enabled: bool,
        digest: str | None,
        actor: str,
        expected: int | None = None,
    ) -> SkillEntry:
        """Enable or disable a skill; without a digest, in its current version. See `Skills.switch`.

        Raises:
            VersionMismatch: the decision has changed since `expected` was read.
            Conflict: the skill to enable is unusable.
        """
        row, _ = await self.row(skill_id, viewer)
        if enabled and (row.problems or row.digest is None):
            raise Conflict(f"The skill {skill_id!r} is unusable: {row.reason}")
        if enabled and digest is not None and digest != row.digest:
            raise DigestMismatch(
                f"The skill {skill_id!r} has changed; its version is now {row.digest}: "
                "review it again",
                digest=row.digest,
            )
        trusted = row.digest if enabled else None
        await self._store.put(
            skill_id, enabled=enabled, trusted_digest=trusted, actor=actor, expected=expected
        )
        return (await self.row(skill_id, viewer))[0]

    def is_trusted(self, digest: str) -> bool:
        return self._store.is_trusted(digest)

    def problems_of(self, name: str, text: str) -> Sequence[SkillProblem]:
        document = read_document(text.encode("utf-8", "replace"), name)
        return [*document.errors, *document.warnings]

    def user_files(self) -> FileOperations:
        if self._files is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._files = LocalFiles(Beneath(self._folder), self._queue)
        return self._files

    def check(self, schema: Mapping[str, Any], value: Any, what: str) -> None:
        check_value(schema, value, what)

    async def prompt(self, viewer: SkillViewer) -> str:
        """Return the part of a system prompt about the skills visible to the viewer's model."""
        places = self._places(viewer)
        judged = await in_thread(self._judged, places, viewer)
        seen = [(row, found.document.body) for row, found in judged if row.status == "visible"]
        return skills_prompt(seen, self._settings.prompt_chars)

    async def _find_id(self, skill_id: str, viewer: SkillViewer) -> tuple[SkillEntry, FoundSkill]:
        name = skill_id.rpartition(":")[2]
        judged = await in_thread(self._judged, self._places(viewer), viewer, fresh=name)
        for row, found in judged:
            if row.id == skill_id:
                return row, found
        raise ToolFailed(f"Skill {skill_id[:128]!r} not found", code="skill_not_found")

    def _places(self, viewer: SkillViewer) -> list[SkillLocation]:
        places = []
        if viewer.project_id is not None:
            root = Path(self._root_of(viewer.project_id))
            prefix = f"project:{viewer.project_id}:"
            places = [
                SkillLocation("project", root, inner, prefix, inner)
                for inner in (PROJECT_FOLDER, *self._settings.project_folders)
            ]
        return [
            *places,
            SkillLocation("user", self._folder, ".", "user:", "of this installation"),
            SkillLocation("builtin", BUILTIN, ".", "builtin:", "of the service"),
        ]

    def _judged(
        self, places: Sequence[SkillLocation], viewer: SkillViewer, *, fresh: str | None = None
    ) -> list[tuple[SkillEntry, FoundSkill]]:
        """Return every skill with its row, by name; the order of locations is preserved."""
        allowed = self._allowed(viewer.agent_id)
        used: dict[str, FoundSkill] = {}
        judged: list[tuple[SkillEntry, FoundSkill]] = []
        for found in self._finder.find(places, fresh=fresh):
            row = self._alone(found)
            first = used.setdefault(found.name, found) if row.status == "visible" else found
            if first is not found:
                row = _shadowed(row, first)
            elif row.status == "visible" and allowed is not None and row.name not in allowed:
                why = f"it is not in the skill list of the agent {viewer.agent_id!r}"
                row = replace(
                    row, status="filtered", **_said(_Reason(code="skill_not_listed", message=why))
                )
            judged.append((row, found))
        return sorted(judged, key=lambda one: one[0].name)

    def _alone(self, found: FoundSkill) -> SkillEntry:
        """Return a skill without the effects of shadowing and agents' lists."""
        decision, document = self._store.of(found.id), found.document
        builtin = found.place.origin == "builtin"
        enabled_now = decision.enabled is True and decision.trusted_digest == found.digest
        trusted = found.digest is not None and (builtin or enabled_now)
        # A project's author must not learn which variables the service has.
        missing = _missing(found) if trusted or found.place.origin == "user" else ()
        status: SkillStatus = "visible"
        reason: _Reason | None = None
        if document.errors:
            first = document.errors[0]
            status, reason = "invalid", _Reason(code=first.code, message=str(first))
        elif decision.enabled is False:
            status, reason = "disabled", _DISABLED
        elif found.place.origin == "project" and not trusted:
            status, reason = "untrusted", _why_untrusted(found, changed=decision.enabled is True)
        elif missing:
            described = f"missing: {', '.join(missing)}"
            status, reason = (
                "missing_requirement",
                _Reason(code="skill_requirement", message=described),
            )
        return SkillEntry(
            id=found.id,
            name=found.name,
            origin=found.place.origin,
            folder=found.place.label,
            description=document.description,
            status=status,
            **_said(reason),
            digest=found.digest,
            is_trusted=trusted,
            is_compute=document.entry is not None,
            always=document.always,
            license=document.license,
            compatibility=document.compatibility,
            allowed_tools=document.allowed_tools,
            problems=document.errors,
            warnings=document.warnings,
            missing=missing,
            enabled=decision.enabled,
            version=decision.version,
        )


def _skill(row: SkillEntry, found: FoundSkill) -> Skill:
    assert found.contents is not None
    return Skill(
        id=row.id,
        name=row.name,
        origin=row.origin,
        description=row.description,
        body=found.document.body,
        digest=found.contents.digest,
        is_trusted=row.is_trusted,
        files=found.contents.files,
        entry=found.document.entry,
        left_out=found.left_out,
    )


def _shadowed(row: SkillEntry, by: FoundSkill) -> SkillEntry:
    why = f"{by.id} ({by.place.label}) is used in its place"
    reason = _Reason(code="skill_shadowed", message=why)
    return replace(row, status="shadowed", shadowed_by=by.id, **_said(reason))


def _why_untrusted(found: FoundSkill, *, changed: bool) -> _Reason:
    if changed:
        described = "it has changed since an operator enabled it"
        return _Reason(code="skill_altered", message=described)
    described = "no operator has enabled it"
    if is_name(found.name):
        described += f" yet: `tollgate skills enable {found.id}`"
    return _Reason(code="skill_not_enabled", message=described)


def _said(reason: _Reason | None) -> dict[str, Any]:
    """Return the fields of a row with the reason why it is not visible."""
    if reason is None:
        return {"reason": None, "reason_code": None}
    return {"reason": reason.message, "reason_code": reason.code}


def _missing(found: FoundSkill) -> tuple[str, ...]:
    """Return unmet requirements. Only the presence of variables is checked."""
    document = found.document
    programs = [
        f"program {name}"
        for name in document.programs
        if shutil.which(name, path=SAFE_PATH) is None
    ]
    variables = [f"variable {name}" for name in document.variables if not os.environ.get(name)]
    return (*programs, *variables)


def skills_prompt(seen: Sequence[tuple[SkillEntry, str]], limit: int) -> str:
    """Return the list of skills, up to `limit` characters, and those always included.

    Args:
        seen: visible skills with their bodies.
    """
    if not seen or not limit:
        return ""
    lines: list[str] = []
    room = limit
    for row, _ in seen:
        line = f"- {row.name}{' (runs)' if row.is_compute else ''}: {_line(row.description)}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"- and {len(seen) - len(lines)} more: skill_manage, action list")
            break
        lines.append(line)
    parts = [_INTRODUCTION + "\n" + "\n".join(lines)]
    # Always included texts are in every prompt, so they must be trusted.
    for row, body in seen:
        if row.always and row.is_trusted and room > 0:
            text = truncate(body.strip(), min(_MAX_ALWAYS, room))
            room -= len(text)
            parts.append(f"The skill {row.name}:\n{text}")
    return "\n\n".join(parts)


@lru_cache(1024)
def _line(description: str) -> str:
    words = "".join(letter if letter.isprintable() else " " for letter in description).split()
    return truncate(" ".join(words), MAX_DESCRIPTION)
