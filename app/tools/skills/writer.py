"""Writer of skills: validates strictly before writing; each change is all or nothing."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from app.core.errors import AlreadyExists, InvalidInput, OutsideWorkspace, ToolFailed
from app.core.field_problems import problem
from app.domain.skills import Skills, SkillViewer
from app.operations.protocols.files import FileOperations, FileState, FileStates
from app.tools.files.edits import replace_text
from app.tools.files.text import decode

if TYPE_CHECKING:
    from app.tools.skills.skill_manage import SkillManageArgs

DOCUMENT = "SKILL.md"
FOLDERS = ("scripts", "references", "assets", "templates")


class SkillWriter:
    """Changes one skill.

    Args:
        folder: the skill's own folder, relative to `files`.
    """

    def __init__(self, skills: Skills, files: FileOperations, name: str, folder: str) -> None:
        self._skills = skills
        self._files = files
        self._name = name
        self._folder = folder

    async def work(self, args: SkillManageArgs, viewer: SkillViewer, skill_id: str) -> list[str]:
        """Apply `args`; return the changed paths, relative to the skill.

        Raises:
            InvalidInput: the result would violate the standard.
            AlreadyExists: the skill to create already exists.
            ToolFailed: `skill_not_found`, `no_match`, `ambiguous_match`, or errors of file
                operations.
        """
        if args.action == "create":
            return await self._create(args.content or "", args.category)
        await self._must_exist()
        if args.action == "edit":
            return await self._edit(args.content or "")
        if args.action == "patch":
            return await self._patch(args)
        if args.action == "write_file":
            path = inner_path(args.file_path or "")
            await self._files.write(self._at(path), (args.file_content or "").encode())
            return [path]
        if args.action == "remove_file":
            path = inner_path(args.file_path or "")
            await self._files.delete(self._at(path))
            return [path]
        return await self._delete(viewer, skill_id)

    async def _create(self, content: str, category: str | None) -> list[str]:
        text = content if category is None else with_category(content, category)
        self._check(text)
        path = self._at(DOCUMENT)

        def make(states: FileStates) -> FileStates:
            if states[path] is not None:
                raise AlreadyExists(f"Skill {self._name!r} already exists: use action edit")
            return {path: FileState(text.encode())}

        await self._files.apply([path], make)
        return [DOCUMENT]

    async def _edit(self, content: str) -> list[str]:
        self._check(content)
        await self._files.write(self._at(DOCUMENT), content.encode())
        return [DOCUMENT]

    async def _patch(self, args: SkillManageArgs) -> list[str]:
        given = args.file_path or DOCUMENT
        path = DOCUMENT if given == DOCUMENT else inner_path(given)
        old, new = args.old_string or "", args.new_string or ""

        def change(data: bytes) -> bytes:
            text, _ = replace_text(decode(data, "utf-8", path), old, new, every=args.replace_all)
            if path == DOCUMENT:
                self._check(text)
            return text.encode()

        await self._files.edit(self._at(path), change)
        return [path]

    async def _delete(self, viewer: SkillViewer, skill_id: str) -> list[str]:
        """Delete every file of a skill; links and other entries stay."""
        try:
            skill = await self._skills.load_id(skill_id, viewer)
            paths = sorted(skill.files)
        except ToolFailed:
            paths = [DOCUMENT]  # unreadable; without this file it is no longer a skill
        await self._files.apply([self._at(path) for path in paths], dict.fromkeys)
        return paths

    async def _must_exist(self) -> None:
        if await self._files.stat(self._at(DOCUMENT)) is None:
            raise ToolFailed(
                f"Skill {self._name!r} does not exist at {self._folder}: create it "
                "with action create",
                code="skill_not_found",
            )

    def _check(self, text: str) -> None:
        problems = self._skills.problems_of(self._name, text)
        if problems:
            message = "; ".join(str(problem) for problem in problems[:20])
            raise InvalidInput(
                f"The SKILL.md is invalid: {message}",
                errors=[problem("content", str(item), "skill_problem") for item in problems[:100]],
            )

    def _at(self, path: str) -> str:
        return f"{self._folder}/{path}"


def inner_path(path: str) -> str:
    """Return a writable path: a file below one of the standard's folders.

    Raises:
        OutsideWorkspace: it leads out of the skill.
        InvalidInput: it is elsewhere in the skill.
    """
    inner = normpath(path)
    if path.startswith(("/", "~")) or "\0" in path or "\\" in path or ".." in path.split("/"):
        raise OutsideWorkspace(path)
    first, _, rest = inner.partition("/")
    if first not in FOLDERS or not rest or not inner.isprintable():
        raise InvalidInput(
            f"file_path {path[:200]!r} must be a file below {', '.join(FOLDERS)}", field="file_path"
        )
    return inner


def with_category(content: str, category: str) -> str:
    """Return the document with `metadata.category`.

    Raises:
        InvalidInput: it already has metadata, where the category belongs.
    """
    head, fence, rest = content.partition("\n---")
    if not fence or "\nmetadata:" in head:
        raise InvalidInput(
            "category: content already has metadata, or no front matter; set category "
            "in its metadata",
            field="category",
        )
    return f'{head}\nmetadata:\n  category: "{category}"{fence}{rest}'
