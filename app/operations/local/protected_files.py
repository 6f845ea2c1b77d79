"""Files outside `.git` that other programs run, compared before and after a program ran.

`app.core.protected_paths` lists them. Changes by a sandboxed program are undone, or left and
reported. A change is left if it is not the program's own making: git brought it, the folder itself
is new, or the content existed before. Everything here blocks.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from app.core.protected_paths import (
    OTHER_HOOKS,
    PROTECTED_PATHS,
    PathSet,
    ProtectedPath,
    below_home,
    name_pattern,
)
from app.operations.local.git_index import GitIndex
from app.operations.local.listings import Entries, Listings, below
from app.operations.local.snapshots import FileSnapshot, Snapshot, Snapshots

_MAX_FILES = 500
_MAX_CHANGED = 5000
_MAX_DEPTH = 4
_MAX_SEEN = 5000
# Maximum lag of file times behind the clock.
_COARSE_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class ProtectedState:
    """State of the files at one moment.

    Attributes:
        folders: inspected folders with contents.
        all_at: time of the inspection, if it was incomplete; otherwise None.
    """

    files: Snapshot = field(default_factory=dict)
    folders: frozenset[str] = frozenset()
    all_at: int | None = None


@dataclass(frozen=True, slots=True)
class ProtectedFile:
    """File run by another program, and the folder in which that program looks for it."""

    path: str
    row: ProtectedPath
    folder: str


@dataclass(slots=True)
class Changed:
    """Changed files: those to undo, with their new content, and those to report."""

    undo: dict[str, FileSnapshot] = field(default_factory=dict)
    report: list[str] = field(default_factory=list)


class _Node:
    """Table entry for a name in a folder: a file, or a folder with further names."""

    def __init__(self) -> None:
        self.names: dict[str, _Node] = {}
        self.globs: list[tuple[re.Pattern[str], _Node]] = []
        self.row: ProtectedPath | None = None
        self.all_below: ProtectedPath | None = None

    def add(self, parts: list[str], row: ProtectedPath) -> None:
        if parts == ["**"]:
            self.all_below = row
        elif not parts:
            self.row = row
        else:
            self._next(parts[0]).add(parts[1:], row)

    def _next(self, name: str) -> _Node:
        if "*" not in name:
            return self.names.setdefault(name.casefold(), _Node())
        node = _Node()
        self.globs.append((name_pattern(name), node))
        return node

    def of(self, name: str) -> Iterator[_Node]:
        """Yield the entries that match a name in the folder."""
        exact = self.names.get(name.casefold())
        if exact is not None:
            yield exact
        for glob, node in self.globs:
            if glob.fullmatch(name):
                yield node


def _tree(*, home: bool) -> _Node:
    root = _Node()
    for row in PROTECTED_PATHS:
        for text in row.patterns:
            rest = text.removeprefix("~/")
            if home == (rest != text) and rest.split("/", 1)[0] != ".git":
                root.add(rest.split("/"), row)
    return root


_ANYWHERE, _IN_HOME = _tree(home=False), _tree(home=True)


class ProtectedFiles:
    """Protected files of one workspace, in the folders near its root.

    Args:
        released: paths that the project's owner excludes from the table.
    """

    def __init__(self, listings: Listings, released: PathSet) -> None:
        self._listings = listings
        self._released = released
        self._snapshots = Snapshots(listings.beneath)
        self._known: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._matched: dict[str, tuple[Entries, list[tuple[tuple[str, bool], _Node]]]] = {}
        self._places: dict[str, ProtectedFile] = {}
        root = listings.beneath.root
        self._is_home = below_home(f"{root}/x", None) == "x"

    def look(
        self, walked: Mapping[str, Entries], hooks: Mapping[str, str], since: int | None = None
    ) -> ProtectedState:
        """Return the current state of all of them.

        Args:
            walked: folders to inspect.
            hooks: configured folders of git hooks, and their work trees.
            since: start of the oldest running program; None if there is none.
        """
        moment = time.time_ns()
        files = self._look(walked, hooks, _MAX_FILES)
        folders = frozenset(path for path, entries in walked.items() if entries or path == ".")
        seen = ProtectedState(files, folders, moment if len(files) == _MAX_FILES else None)
        for path, kept in seen.files.items():
            # A program may move existing content anywhere. Changes since another program started
            # may be that program's.
            if since is None or kept.signature[-1] < since - _COARSE_NS:
                self._remember(self._places[path].row, kept)
        return seen

    def changed(
        self,
        walked: Mapping[str, Entries],
        hooks: Mapping[str, str],
        before: ProtectedState,
        may_change: Callable[[ProtectedPath], bool],
    ) -> Changed:
        """Return a program's changes since `before`.

        Args:
            may_change: returns whether the program was approved for such files.
        """
        changed, index = Changed(), GitIndex(self._listings.beneath)
        for path, kept in self._look(walked, hooks, _MAX_CHANGED).items():
            known, place = before.files.get(path), self._places[path]
            if (known is not None and known.is_same(kept)) or may_change(place.row):
                continue
            is_new_place = place.folder not in before.folders
            if known is None and before.all_at is not None:
                # Its previous existence is unknown; the time of a change cannot be forged.
                if kept.signature[-1] >= before.all_at:
                    changed.report.append(path)
            elif place.row.by_program == "report":
                if not is_new_place:
                    changed.report.append(path)
            elif is_new_place or self._is_old(place.row, kept) or index.has(path, kept.blob):
                changed.report.append(path)
            else:
                changed.undo[path] = kept
        return changed

    def put_back(self, path: str, before: ProtectedState) -> bool:
        """Restore a file; return whether it succeeded."""
        return self._snapshots.put_back(path, before.files.get(path))

    def _look(self, walked: Mapping[str, Entries], hooks: Mapping[str, str], most: int) -> Snapshot:
        self._places = {}
        return self._snapshots.take(self._paths(walked, hooks), most)

    def _paths(self, walked: Mapping[str, Entries], hooks: Mapping[str, str]) -> Iterator[str]:
        if len(self._matched) > 2 * len(walked):
            self._matched.clear()
        for place in self._found(walked, hooks):
            if place.path not in self._places and not self._released.covers(place.path):
                self._places[place.path] = place
                yield place.path

    def _found(
        self, walked: Mapping[str, Entries], hooks: Mapping[str, str]
    ) -> Iterator[ProtectedFile]:
        for folder, entries in walked.items():
            for entry, node in self._matches(folder, entries):
                yield from self._at(folder, entry, node, folder)
        if self._is_home and "." in walked:
            for entry in walked["."]:
                for node in _IN_HOME.of(entry[0]):
                    yield from self._at(".", entry, node, ".")
        for folder, tree in hooks.items():
            yield from self._all_below(folder, OTHER_HOOKS, tree, 0)

    def _matches(self, folder: str, entries: Entries) -> list[tuple[tuple[str, bool], _Node]]:
        known = self._matched.get(folder)
        if known is None or known[0] is not entries:
            matches = [(entry, node) for entry in entries for node in _ANYWHERE.of(entry[0])]
            known = self._matched[folder] = entries, matches
        return known[1]

    def _at(
        self, parent: str, entry: tuple[str, bool], node: _Node, start: str
    ) -> Iterator[ProtectedFile]:
        name, is_folder = entry
        path = below(parent, name)
        if not is_folder:
            # A link to a folder does not count: its target is not inspected.
            row = node.row or node.all_below
            if row is not None:
                yield ProtectedFile(path, row, start)
            return
        if node.names or node.globs:
            for inner in self._listings.entries(path):
                for further in node.of(inner[0]):
                    yield from self._at(path, inner, further, start)
        if node.all_below is not None:
            yield from self._all_below(path, node.all_below, start, 0)

    def _all_below(
        self, folder: str, row: ProtectedPath, start: str, depth: int
    ) -> Iterator[ProtectedFile]:
        entries = self._listings.entries(folder)
        for name, is_folder in entries:
            if not is_folder:
                yield ProtectedFile(below(folder, name), row, start)
        for name, is_folder in entries:
            if is_folder and depth < _MAX_DEPTH:
                yield from self._all_below(below(folder, name), row, start, depth + 1)

    def _remember(self, row: ProtectedPath, kept: FileSnapshot) -> None:
        key = (row.run_by, kept.blob)
        self._known[key] = None
        self._known.move_to_end(key)
        while len(self._known) > _MAX_SEEN:
            self._known.popitem(last=False)

    def _is_old(self, row: ProtectedPath, kept: FileSnapshot) -> bool:
        return kept.data is not None and (row.run_by, kept.blob) in self._known
