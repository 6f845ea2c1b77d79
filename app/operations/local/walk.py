"""Walk of a tree on directory descriptors: nothing outside can be reached, whatever moves.

Each folder is opened by its bare name from its parent's descriptor, without following links, and
listed from its own descriptor. Links are reported, never followed.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from app.operations.ignore import IGNORE_FILES, IgnoreRules, IgnoreSpec, left_out, parse_ignore

Kind = Literal["file", "dir", "other"]

OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 200  # one descriptor each; deeper folders count as skipped
_MAX_IGNORE_BYTES = 256 << 10
_CACHE_SIZE = 512


class Entry(NamedTuple):
    """Entry of a walk. `folder` is a descriptor that stays open until the walk continues.

    `path` is relative to the workspace.
    """

    folder: int
    name: str
    path: str
    kind: Kind


class IgnoreCache:
    """Parsed ignore files by identity and time of their content."""

    def __init__(self) -> None:
        self._specs: OrderedDict[tuple[int, int, int, int], IgnoreSpec | None] = OrderedDict()

    def load(self, folder: int, name: str) -> IgnoreSpec | None:
        """Return the rules of the file `name` in `folder`; None without a readable one."""
        try:
            descriptor = os.open(name, OPEN_FILE, dir_fd=folder)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_IGNORE_BYTES:
                return None
            key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
            if key not in self._specs:
                self._specs[key] = parse_ignore(os.read(descriptor, _MAX_IGNORE_BYTES))
                if len(self._specs) > _CACHE_SIZE:
                    self._specs.popitem(last=False)
            return self._specs.get(key)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def extend(self, folder: int, base: int, parent: IgnoreRules | None) -> IgnoreRules | None:
        """Return `parent` preceded by the rules of `folder`, whose path has `base` characters."""
        rules = parent
        for name in IGNORE_FILES:
            spec = self.load(folder, name)
            if spec is not None:
                rules = IgnoreRules(spec, base, rules)
        return rules


@dataclass(slots=True)
class _WalkLevel:
    folder: int
    prefix: str
    entries: Iterator[tuple[str, Kind]]
    rules: IgnoreRules | None
    may_ignore: bool


class Walk:
    """Deterministic walk: by path component, a folder before its contents.

    Attributes:
        skipped: number of folders that could not be entered.
        max_depth: see `FindQuery`.
        closed: device and inode of folders not to enter.
    """

    def __init__(
        self,
        cache: IgnoreCache,
        *,
        respect_ignore: bool = True,
        include_hidden: bool = False,
        max_depth: int | None = None,
        closed: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        self.skipped = 0
        self._max_depth = max_depth
        self._closed = closed
        self._cache = cache
        self._respect_ignore = respect_ignore
        self._include_hidden = include_hidden

    def entries(self, folder: int, prefix: str, rules: IgnoreRules | None) -> Iterator[Entry]:
        """Yield everything below the descriptor `folder`, which the caller keeps open.

        Args:
            prefix: path of `folder` below the workspace, with a slash at its end, or empty.
            rules: rules of the folders above.
        """
        levels = [self._level(folder, prefix, rules)]
        try:
            while levels:
                level = levels[-1]
                deeper = None
                for name, kind in level.entries:
                    path = level.prefix + name
                    if (
                        level.may_ignore
                        and level.rules
                        and level.rules.ignores(path, is_dir=kind == "dir")
                    ):
                        continue
                    yield Entry(level.folder, name, path, kind)
                    if kind == "dir":
                        deeper = self._enter(level, name, len(levels))
                        if deeper is not None:
                            break
                if deeper is not None:
                    levels.append(deeper)
                else:
                    levels.pop()
                    if levels:
                        os.close(level.folder)
        finally:
            for level in levels[1:]:
                os.close(level.folder)

    def _enter(self, level: _WalkLevel, name: str, depth: int) -> _WalkLevel | None:
        if self._max_depth is not None and depth >= self._max_depth:
            return None
        if depth >= _MAX_DEPTH:
            self.skipped += 1
            return None
        try:
            folder = os.open(name, _OPEN_FOLDER, dir_fd=level.folder)
        except OSError:
            self.skipped += 1
            return None
        if self._closed and identity(folder) in self._closed:
            os.close(folder)
            return None
        return self._level(folder, f"{level.prefix}{name}/", level.rules)

    def _level(self, folder: int, prefix: str, rules: IgnoreRules | None) -> _WalkLevel:
        found: list[tuple[str, Kind]] = []
        has_ignore = False
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    has_ignore = has_ignore or name in IGNORE_FILES
                    if not left_out(
                        name,
                        respect_ignore=self._respect_ignore,
                        include_hidden=self._include_hidden,
                    ):
                        found.append((name, _kind(entry)))
        except OSError:
            self.skipped += 1
        found.sort()
        if has_ignore and self._respect_ignore:
            rules = self._cache.extend(folder, len(prefix), rules)
        names = [f"{name}/" if kind == "dir" else name for name, kind in found]
        may_ignore = rules is not None and rules.may_ignore(prefix, names)
        return _WalkLevel(folder, prefix, iter(found), rules, may_ignore)


def identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _kind(entry: os.DirEntry[str]) -> Kind:
    try:
        if entry.is_file(follow_symlinks=False):
            return "file"
        return "dir" if entry.is_dir(follow_symlinks=False) else "other"
    except OSError:
        return "other"
