"""Searching names and content of a workspace, in one thread, stopped by cancelling.

In process rather than through ripgrep: there is no program to ship, nothing outside can
be reached, and files are read into one reused buffer, so that a page fault per file does
not dominate.
"""

from __future__ import annotations

import heapq
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from app.core.errors import ToolFailed
from app.operations.globs import Matches, compile_glob
from app.operations.grep_page import GrepPage
from app.operations.ignore import IgnoreRules
from app.operations.local.beneath import Beneath
from app.operations.local.failures import failure
from app.operations.local.stats import to_file_stat
from app.operations.local.threads import SEARCHES, run_in, to_end
from app.operations.local.walk import OPEN_FILE, Entry, IgnoreCache, Walk
from app.operations.protocols import FileStat, FindQuery, FindResult, GrepQuery, GrepResult
from app.operations.scan import LineMatcher

T = TypeVar("T")
_FIRST_BUFFER = 256 << 10
_CHUNK = 1 << 20


class Stopped(Exception):
    """The awaiting task was cancelled; never leaves this module's threads."""


@dataclass(frozen=True, slots=True)
class _Start:
    folder: int
    prefix: str
    rules: IgnoreRules | None


class LocalSearch:
    """`SearchOperations` on a `Beneath`."""

    def __init__(self, beneath: Beneath) -> None:
        self._beneath = beneath
        self._cache = IgnoreCache()

    async def find(self, query: FindQuery) -> FindResult:
        return await run_stoppable(lambda stop: self._find(query, stop))

    async def grep(self, query: GrepQuery) -> GrepResult:
        return await run_stoppable(lambda stop: self._grep(query, stop))

    def _find(self, query: FindQuery, stop: threading.Event) -> FindResult:
        matches = compile_glob(query.pattern, case_insensitive=query.case_insensitive)
        walk = Walk(
            self._cache, respect_ignore=query.respect_ignore, include_hidden=query.include_hidden
        )
        with self._start(query.path, respect_ignore=query.respect_ignore) as start:
            found = _matching(walk, start, query, matches, stop)
            if query.sort == "modified":
                return _newest(found, query)
            return _page(found, query)

    def _grep(self, query: GrepQuery, stop: threading.Event) -> GrepResult:
        matcher = LineMatcher(query)
        glob = compile_glob(query.glob) if query.glob else None
        page = GrepPage(query, matcher)
        buffer = _FileBuffer(query.max_file_bytes, stop)
        if not self._grep_one(query.path, page, buffer):
            walk = Walk(
                self._cache,
                respect_ignore=query.respect_ignore,
                include_hidden=query.include_hidden,
            )
            with self._start(query.path, respect_ignore=query.respect_ignore) as start:
                cut = len(start.prefix)
                for entry in walk.entries(start.folder, start.prefix, start.rules):
                    if page.full:
                        break
                    if entry.kind == "file" and (glob is None or glob(entry.path[cut:])):
                        _scan(page, entry.path, buffer, buffer.load(entry))
            page.skipped += walk.skipped
        return page.result()

    def _grep_one(self, path: str, page: GrepPage, buffer: _FileBuffer) -> bool:
        """Search `path` itself when it is a file; False when it is a directory."""
        with self._beneath.opened(path, os.O_PATH) as descriptor:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return False
        with self._beneath.file(path) as (descriptor, _):
            shown = self._beneath.join(self._beneath.parts(path))
            try:
                _scan(page, shown, buffer, buffer.read(descriptor))
            except OSError as error:
                raise failure(error, path) from None
        return True

    @contextmanager
    def _start(self, path: str, *, respect_ignore: bool) -> Iterator[_Start]:
        """The folder to walk, and the rules of the folders above it.

        Asked for by name, an ignored folder is searched: then rules above do not count.
        """
        parts = self._beneath.parts(path)
        prefix = f"{self._beneath.join(parts)}/" if parts else self._beneath.join(()).strip(".")
        with self._beneath.folder(path) as folder:
            rules = self._rules_above(parts) if respect_ignore else None
            yield _Start(folder, prefix, rules)

    def _rules_above(self, parts: tuple[str, ...]) -> IgnoreRules | None:
        rules: IgnoreRules | None = None
        if ".." in parts:  # the folders passed are not the folders above
            return None
        for count in range(len(parts)):
            above = self._beneath.join(parts[:count])
            base = len(above) + 1 if count else len(above.strip("."))
            with ExitStack() as stack:
                try:
                    folder = stack.enter_context(self._beneath.folder(above))
                except ToolFailed:
                    return None
                rules = self._cache.extend(folder, base, rules)
            if rules and rules.ignores(self._beneath.join(parts[: count + 1]), is_dir=True):
                return None
        return rules


class _FileBuffer:
    """One buffer for all files of a search; it grows to the largest that is allowed."""

    def __init__(self, max_bytes: int, stop: threading.Event) -> None:
        self.data = bytearray(_FIRST_BUFFER)
        self._max_bytes = max_bytes
        self._stop = stop

    def load(self, entry: Entry) -> int:
        """Bytes read into `data`; -1 for a file to skip."""
        try:
            descriptor = os.open(entry.name, OPEN_FILE, dir_fd=entry.folder)
        except OSError:
            return -1
        try:
            return self.read(descriptor)
        except OSError:
            return -1
        finally:
            os.close(descriptor)

    def read(self, descriptor: int) -> int:
        if self._stop.is_set():
            raise Stopped
        size = os.readv(descriptor, [self.data])
        # a read that leaves room has met the end: most files need neither fstat nor a second
        # read, and what is not a regular file cannot fill the buffer without being asked below
        if size < len(self.data):
            return size if size <= self._max_bytes else -1
        return self._read_rest(descriptor, size)

    def _read_rest(self, descriptor: int, size: int) -> int:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._max_bytes:
            return -1
        if status.st_size >= len(self.data):
            self.data.extend(bytes(status.st_size + 1 - len(self.data)))
        while size < len(self.data):
            if self._stop.is_set():
                raise Stopped
            with memoryview(self.data) as view:
                count = os.readv(descriptor, [view[size : size + _CHUNK]])
            if not count:
                return size
            size += count
        return size if size <= self._max_bytes else -1


def _scan(page: GrepPage, path: str, buffer: _FileBuffer, size: int) -> None:
    if size < 0:
        page.skipped += 1
    else:
        page.add(path, buffer.data, size)


async def run_stoppable(work: Callable[[threading.Event], T]) -> T:
    stop = threading.Event()
    return await to_end(run_in(SEARCHES, work, stop), on_cancel=stop.set)


def _matching(
    walk: Walk, start: _Start, query: FindQuery, matches: Matches, stop: threading.Event
) -> Iterator[Entry]:
    cut = len(start.prefix)
    wanted = query.type
    for entry in walk.entries(start.folder, start.prefix, start.rules):
        if stop.is_set():
            raise Stopped
        if (wanted in ("all", entry.kind)) and matches(entry.path[cut:]):
            yield entry


def _page(found: Iterator[Entry], query: FindQuery) -> FindResult:
    last = query.offset + query.limit if query.limit else None
    entries: list[FileStat] = []
    total = 0
    for entry in found:
        if total >= query.offset and (last is None or total < last):
            status = _stat(entry)
            if status is None:
                continue
            entries.append(to_file_stat(entry.path, status))
        total += 1
    return FindResult(tuple(entries), total, total > query.offset + len(entries))


def _newest(found: Iterator[Entry], query: FindQuery) -> FindResult:
    """The page by time, newest first, then by path."""
    dated = []
    for entry in found:
        status = _stat(entry)
        if status is not None:
            dated.append((-status.st_mtime_ns, entry.path, status))
    last = query.offset + query.limit if query.limit else len(dated)
    page = heapq.nsmallest(last, dated, key=lambda item: item[:2])[query.offset :]
    entries = tuple(to_file_stat(path, status) for _, path, status in page)
    return FindResult(entries, len(dated), len(dated) > query.offset + len(entries))


def _stat(entry: Entry) -> os.stat_result | None:
    try:
        return os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False)
    except OSError:
        return None
