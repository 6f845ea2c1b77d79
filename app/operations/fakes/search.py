"""Search over a `FakeTree`, with the matching of the local one."""

from __future__ import annotations

from collections.abc import Iterator

from app.operations.fakes.files import FakeTree
from app.operations.globs import compile_glob
from app.operations.grep_page import GrepPage
from app.operations.ignore import IGNORE_FILES, IgnoreRules, left_out, parse_ignore
from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery, FindResult, GrepQuery, GrepResult
from app.operations.scan import LineMatcher

_KINDS = {"file": "file", "directory": "dir", "other": "other"}


class FakeSearch:
    """`SearchOperations` on a `FakeTree`."""

    def __init__(self, tree: FakeTree) -> None:
        self._tree = tree

    async def find(self, query: FindQuery) -> FindResult:
        matches = compile_glob(query.pattern, case_insensitive=query.case_insensitive)
        folder = self._tree.folder(query.path)
        cut = _prefix_length(folder)
        found = [
            entry
            for entry in self._below(folder, query)
            if query.type in ("all", _KINDS[entry.type]) and matches(entry.path[cut:])
        ]
        if query.sort == "modified":
            found.sort(key=lambda entry: (-entry.modified.timestamp(), entry.path))
        last = query.offset + query.limit if query.limit else len(found)
        page = tuple(found[query.offset : last])
        return FindResult(page, len(found), len(found) > query.offset + len(page))

    async def grep(self, query: GrepQuery) -> GrepResult:
        page = GrepPage(query, LineMatcher(query))
        path = self._tree.resolve(query.path)
        if path in self._tree.files:
            self._scan(page, path, query.max_named_bytes)
            return page.result()
        folder = self._tree.folder(query.path)
        cut = _prefix_length(folder)
        glob = compile_glob(query.glob or "*", case_insensitive=query.glob_case_insensitive)
        for entry in self._below(folder, query):
            if entry.type == "file" and glob(entry.path[cut:]):
                self._scan(page, entry.path, query.max_file_bytes)
        return page.result()

    def _scan(self, page: GrepPage, path: str, max_bytes: int) -> None:
        data = self._tree.files[path].data
        if len(data) > max_bytes:
            page.skipped += 1
        else:
            page.add(path, bytearray(data), len(data))

    def _below(self, folder: str, query: FindQuery | GrepQuery) -> Iterator[FileStat]:
        """Yield everything below `folder` in path order, except what the query excludes."""
        prefix = "" if folder == "." else f"{folder}/"
        paths = [
            path for path in (*self._tree.files, *self._tree.folders) if path.startswith(prefix)
        ]
        dropped: list[str] = []
        for path in sorted(paths, key=lambda path: path.split("/")):
            entry = self._tree.stat(path)
            if entry is None or any(path.startswith(parent) for parent in dropped):
                continue
            if query.max_depth is not None and path.count("/", len(prefix)) >= query.max_depth:
                continue
            if self._is_left_out(entry, folder, query):
                dropped.append(f"{path}/")
            else:
                yield entry

    def _is_left_out(self, entry: FileStat, folder: str, query: FindQuery | GrepQuery) -> bool:
        name = entry.path.rpartition("/")[2]
        if left_out(name, respect_ignore=query.respect_ignore, include_hidden=query.include_hidden):
            return True
        if not query.respect_ignore:
            return False
        start = f"{folder}/" if self._is_ignored(folder) else ""
        rules = self._rules(entry.path, start)
        return rules is not None and rules.ignores(entry.path, is_dir=entry.type == "directory")

    def _is_ignored(self, folder: str) -> bool:
        """Return whether a named folder is ignored: such a folder is searched, without the rules
        above it.
        """
        if folder == ".":
            return False
        rules = self._rules(folder, "")
        return rules is not None and rules.ignores(folder, is_dir=True)

    def _rules(self, path: str, start: str) -> IgnoreRules | None:
        """Return rules for `path` from the folders that begin with `start`."""
        rules: IgnoreRules | None = None
        parents = path.split("/")[:-1]
        for count in range(len(parents) + 1):
            base = "".join(f"{parent}/" for parent in parents[:count])
            for name in IGNORE_FILES:
                file = self._tree.files.get(base + name)
                spec = parse_ignore(file.data) if file and base.startswith(start) else None
                if spec is not None:
                    rules = IgnoreRules(spec, len(base), rules)
        return rules


def _prefix_length(folder: str) -> int:
    return 0 if folder == "." else len(folder) + 1
