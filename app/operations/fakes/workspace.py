"""All in-memory operations together."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from app.core.clock import Clock, SystemClock
from app.core.errors import ToolFailed
from app.operations.fakes.files import ROOT, FakeFiles, FakeTree
from app.operations.globs import compile_glob
from app.operations.grep_page import GrepPage
from app.operations.ignore import IGNORE_FILES, IgnoreRules, left_out, parse_ignore
from app.operations.process_errors import input_closed
from app.operations.protocols.code import CodeExit, CodeOperations, CodeSpec, RunningCode
from app.operations.protocols.files import FileStat
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import (
    ProcessChunk,
    ProcessExit,
    ProcessSpec,
    RunningProcess,
)
from app.operations.protocols.search import FindQuery, FindResult, GrepQuery, GrepResult
from app.operations.scan import LineMatcher

Script = Callable[[ProcessSpec], tuple[Sequence[ProcessChunk], ProcessExit]]

_KINDS = {"file": "file", "directory": "dir", "other": "other"}


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """Output and exit of one piece of code."""

    chunks: tuple[ProcessChunk, ...] = ()
    ending: CodeExit = field(default_factory=lambda: CodeExit(ProcessExit(0)))


class FakeCode:
    """`CodeOperations` that answers with `script`; `specs` records the requests."""

    def __init__(self, script: Callable[[CodeSpec], ScriptedRun] | None = None) -> None:
        self._script = script or (lambda _: ScriptedRun())
        self.specs: list[CodeSpec] = []

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: CodeSpec) -> AsyncIterator[RunningCode]:
        self.specs.append(spec)
        yield _FakeRun(self._script(spec))


class _FakeRun:
    def __init__(self, run: ScriptedRun) -> None:
        self._run = run

    async def output(self) -> AsyncIterator[ProcessChunk]:
        for chunk in self._run.chunks:
            yield chunk

    async def wait(self) -> CodeExit:
        return self._run.ending


def no_programs(spec: ProcessSpec) -> tuple[Sequence[ProcessChunk], ProcessExit]:
    """Default script: no program is installed."""
    name = spec.argv[0] if spec.argv else ""
    raise ToolFailed(f"Program not found: {name!r}", code="program_not_found", program=name)


class FakeProcesses:
    """`ProcessOperations` that answers from a script.

    Attributes:
        started: every spec in the order of `open`.
    """

    def __init__(self, tree: FakeTree, script: Script = no_programs) -> None:
        self.started: list[ProcessSpec] = []
        self._tree = tree
        self._script = script
        self._pids = itertools.count(1)

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: ProcessSpec) -> AsyncIterator[RunningProcess]:
        self._tree.folder(self._tree.start(spec.cwd))
        self.started.append(spec)
        chunks, ended = self._script(spec)
        takes_input = spec.interactive or spec.terminal is not None
        yield _ScriptedProcess(next(self._pids), chunks, ended, takes_input=takes_input)


class _ScriptedProcess:
    def __init__(
        self, pid: int, chunks: Sequence[ProcessChunk], ended: ProcessExit, *, takes_input: bool
    ) -> None:
        self.pid = pid
        self.sandbox = ended.sandbox
        self._chunks = list(chunks)
        self._ended = ended
        self._takes_input = takes_input
        self.written = b""

    async def output(self) -> AsyncIterator[ProcessChunk]:
        while self._chunks:
            yield self._chunks.pop(0)

    async def write(self, data: bytes) -> None:
        if not self._takes_input:
            raise input_closed()
        self.written += data

    async def close_input(self) -> None:
        self._takes_input = False

    async def wait(self) -> ProcessExit:
        return self._ended

    async def kill(self) -> None:
        self._chunks.clear()
        self._takes_input = False


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


def fake_workspace(
    files: Mapping[str, bytes | str] | None = None,
    *,
    script: Script = no_programs,
    code: CodeOperations | None = None,
    clock: Clock | None = None,
    roots: tuple[str, ...] = (),
) -> Operations:
    """Return operations on a workspace that contains `files`; text is encoded as UTF-8.

    Args:
        script: output and exit of a started program.
        code: results of Python code; nothing runs by default.
        clock: source of modification times.
        roots: reachable folders; `files` are added in any case.
    """
    tree = FakeTree(clock or SystemClock())
    tree.fill(files or {})
    tree.roots = roots
    return Operations(
        root=ROOT,
        files=FakeFiles(tree),
        search=FakeSearch(tree),
        processes=FakeProcesses(tree, script),
        code=code or FakeCode(),
        roots=roots,
    )
