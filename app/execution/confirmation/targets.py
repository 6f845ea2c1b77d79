"""Targets of a call: listed before approval is requested, and again before it runs."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from app.core.errors import ToolFailed
from app.core.escaping import unpadded
from app.execution.context import Project
from app.operations.protocols.search import FindQuery, FindResult
from app.policy.rules.globs import GLOBBED

MAX_TARGETS = 20
"""Maximum number of targets shown."""
MAX_NAMES = 50
"""Maximum number of names shown of the contents of folders and patterns, over all targets."""
MAX_LISTED = 10_000
"""Maximum number of files and folders in one list."""
LOOK_S = 5.0
"""Time limit for listing targets."""
_MAX_SHOWN = 5
_UNSEEN, _PLACE = "unseen", "place"
_NO_FILES = frozenset(["missing", _UNSEEN, _PLACE])
_NO_LETTER = re.compile(r"[*?\[\]{},!\\]")
_NO_SHELLS = re.compile(r"[{},\\]")
"""Special characters of our patterns that are literal in a shell's."""


class TargetEntry(NamedTuple):
    """File or folder that would be affected, a name that does not exist, or a link's target."""

    path: str
    type: str


@dataclass(slots=True)
class Targets:
    """Everything that a call would affect at one moment, with folders and patterns expanded.

    Attributes:
        shown: each target as a `ShownTarget`.
        entries: listed entries in a fixed order; empty after a restart.
        count: total files and folders.
        more: the list is incomplete.
        digest: digest of the list; "" if it could not be computed, so no comparison is possible.
    """

    shown: list[dict[str, Any]] = field(default_factory=list)
    entries: list[TargetEntry] = field(default_factory=list)
    count: int = 0
    more: bool = False
    digest: str = ""

    def to_dict(self) -> dict[str, Any] | None:
        """Return the form in the event; None if nothing was listed."""
        if not self.digest:
            return None
        return {"count": self.count, "more": self.more, "digest": self.digest}

    def changed(self, now: Targets) -> str:
        """Describe how `now` differs from the targets shown; "" if it does not.

        A list that was not available then cannot differ; one no longer available does.
        """
        if not self.digest or self.digest == now.digest:
            return ""
        if not now.digest:
            return "Its targets could not be listed again"
        reported = "Its targets have changed"
        if now.count != self.count:
            reported += f": {now.count} instead of {self.count}"
        if not self.entries:
            return reported
        before, after = set(self.entries), set(now.entries)
        parts = [_named("new", after - before), _named("gone", before - after)]
        return f"{reported} ({'; '.join(filter(None, parts))})"


def kept_targets(kept: dict[str, Any] | None) -> Targets:
    """Parse the output of `Targets.to_dict`."""
    if not kept:
        return Targets()
    return Targets(count=kept["count"], more=kept["more"], digest=kept["digest"])


async def targets_of(paths: Sequence[str], project: Project | None) -> Targets:
    """List what is at and below each of `paths`, which may contain shell patterns.

    Stops after `LOOK_S` seconds: remaining targets are shown without a count, and there is no
    digest.
    """
    found = Targets([{"path": unpadded(path)} for path in paths[:MAX_TARGETS]])
    if project is None or not paths:
        return found
    look = _TargetScan(project, found)
    try:
        async with asyncio.timeout(LOOK_S):
            for at, path in enumerate(paths):
                await look.at(path, found.shown[at] if at < len(found.shown) else {})
    except TimeoutError:
        found.more = True
        return found
    listed = "\0".join(f"{entry.type} {entry.path}" for entry in found.entries)
    whole = f"{found.count}\n{listed}".encode("utf-8", "surrogatepass")
    found.digest = sha256(whole).hexdigest()
    return found


class _TargetScan:
    """One scan of everything that a call names."""

    def __init__(self, project: Project, found: Targets) -> None:
        self._root = project.root.rstrip("/")
        self._operations = project.operations
        self._found = found
        self._names = MAX_NAMES

    async def at(self, path: str, shown: dict[str, Any]) -> None:
        """List `path` and its contents; add the displayed form to `shown`."""
        normal = posixpath.normpath(path)
        if normal != self._root and not normal.startswith(self._root + "/"):
            self._add(TargetEntry(normal, _UNSEEN))
            return
        try:
            if real := await self._place(normal):
                shown["real"] = real
            stat = await self._operations.files.stat(normal)
            if stat is None and GLOBBED.search(normal):
                await self._pattern(normal, shown)
            elif stat is None:
                shown["type"] = "missing"
                self._add(TargetEntry(normal, "missing"))
            elif stat.type == "directory":
                shown["type"] = "directory"
                await self._folder(stat.path, normal, shown)
            else:
                is_link = stat.type == "file" and await self._is_link(normal)
                shown |= {"type": "file" if stat.type == "file" else "unknown", "files": 1}
                self._add(TargetEntry(stat.path, "link" if is_link else stat.type))
        except ToolFailed:
            self._add(TargetEntry(normal, _UNSEEN))

    async def _place(self, path: str) -> str:
        """Return and list the target of links in `path`, even if it is missing or outside the
        workspace.
        """
        real = await self._operations.files.place(path)
        if real:
            self._add(TargetEntry(real.removeprefix(f"{self._root}/"), _PLACE))
        return unpadded(real)

    async def _link(self, path: str, shown: dict[str, Any]) -> None:
        """Add a link with its target to `shown`."""
        real = await self._place(posixpath.join(self._root, path))
        if real:
            shown.setdefault("links", []).append({"path": unpadded(path), "real": real})

    async def _is_link(self, path: str) -> bool:
        """Return whether the name is a link, so that the change affects its target."""
        folder, _, name = path.rpartition("/")
        query = FindQuery(
            path=folder,
            pattern=_NO_LETTER.sub(r"\\\g<0>", name),
            type="all",
            limit=1,
            max_depth=1,
            respect_ignore=False,
            include_hidden=True,
        )
        found = await self._operations.search.find(query)
        return any(entry.type != "file" for entry in found.entries)

    async def _folder(self, path: str, where: str, shown: dict[str, Any]) -> None:
        self._add(TargetEntry(path, "directory"))
        query = FindQuery(
            path=where, type="all", limit=self._left, respect_ignore=False, include_hidden=True
        )
        found = await self._operations.search.find(query)
        await self._take(found, shown)

    async def _pattern(self, path: str, shown: dict[str, Any]) -> None:
        """Expand `path` like a shell, and list the contents."""
        parts = path.removeprefix(self._root + "/").split("/")
        first = next(at for at, part in enumerate(parts) if GLOBBED.search(part))
        shown |= {"type": "unknown", "files": 0}
        try:
            await self._matching("/".join([self._root, *parts[:first]]), parts[first:], shown)
        except ToolFailed as error:
            if error.code not in {"file_not_found", "not_a_directory"}:
                raise
            self._add(TargetEntry(path, "missing"))

    async def _matching(self, folder: str, parts: Sequence[str], shown: dict[str, Any]) -> None:
        """List the matches of the pattern `parts` in `folder`, and their contents."""
        found = await self._find(folder, parts)
        await self._take(found, shown)
        for entry in found.entries:
            if entry.type == "directory":
                below = FindQuery(
                    path=posixpath.join(self._root, entry.path),
                    type="all",
                    limit=self._left,
                    respect_ignore=False,
                    include_hidden=True,
                )
                inside = await self._operations.search.find(below)
                await self._take(inside, shown)
        if "**" not in parts:
            await self._through_links(folder, parts, shown)

    async def _through_links(
        self, folder: str, parts: Sequence[str], shown: dict[str, Any]
    ) -> None:
        """List folders behind links, which a shell enters but a search does not."""
        for count in range(1, len(parts)):
            found = await self._find(folder, parts[:count])
            for entry in found.entries:
                path = posixpath.join(self._root, entry.path)
                if entry.type == "other" and await self._is_folder(path):
                    await self._link(entry.path, shown)
                    await self._matching(path, parts[count:], shown)

    async def _is_folder(self, path: str) -> bool:
        try:
            stat = await self._operations.files.stat(path)
        except ToolFailed:  # the link leads out of the workspace, where programs cannot write
            return False
        return stat is not None and stat.type == "directory"

    async def _find(self, folder: str, parts: Sequence[str]) -> FindResult:
        """Expand `parts` in `folder` like a shell."""
        pattern = "/".join(parts)
        query = FindQuery(
            path=folder,
            pattern=_NO_SHELLS.sub(r"\\\g<0>", pattern),
            type="all",
            limit=self._left,
            max_depth=None if "**" in pattern else len(parts),
            respect_ignore=False,
            # A shell omits hidden names; `find` does not.
            include_hidden="**" in pattern or any(part.startswith(".") for part in parts),
        )
        return await self._operations.search.find(query)

    @property
    def _left(self) -> int:
        """Return how many entries may still be listed, at least one: zero means no limit."""
        return max(1, MAX_LISTED - len(self._found.entries))

    async def _take(self, result: FindResult, shown: dict[str, Any]) -> None:
        found, entries, total = self._found, result.entries, result.total
        room = MAX_LISTED - len(found.entries)
        found.entries.extend(
            TargetEntry(entry.path, entry.type) for entry in entries[: max(0, room)]
        )
        found.count += total
        found.more = found.more or total > max(0, room)
        files = [entry for entry in entries if entry.type != "directory"]
        named = files[: self._names]
        shown.setdefault("names", []).extend(unpadded(entry.path) for entry in named)
        self._names -= len(named)
        shown["files"] = shown.get("files", 0) + len(files)
        shown["more"] = shown.get("more", False) or total > len(entries)
        for entry in named:
            if entry.type == "other":
                await self._link(entry.path, shown)

    def _add(self, entry: TargetEntry) -> None:
        self._found.count += entry.type not in _NO_FILES
        if len(self._found.entries) < MAX_LISTED:
            self._found.entries.append(entry)
        else:
            self._found.more = True


def _named(word: str, entries: set[TargetEntry]) -> str:
    if not entries:
        return ""
    paths = sorted(unpadded(entry.path) for entry in entries)
    rest = f" and {len(paths) - _MAX_SHOWN} more" if len(paths) > _MAX_SHOWN else ""
    return f"{word}: {', '.join(paths[:_MAX_SHOWN])}{rest}"
