"""Search for names and contents of a workspace, in one thread, stopped by cancellation.

In-process instead of ripgrep: no program to ship, and nothing outside can be reached.
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
from app.operations.local.filefeed import FileFeed, Stopped
from app.operations.local.stats import to_file_stat
from app.operations.local.threads import SEARCHES, run_in, to_end
from app.operations.local.walk import Entry, IgnoreCache, Walk
from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery, FindResult, GrepQuery, GrepResult
from app.operations.scan import LineMatcher

T = TypeVar("T")


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
        walk = self._walk(query)
        with self._start(query.path, respect_ignore=query.respect_ignore) as start:
            found = _matching(walk, start, query, matches, stop)
            if query.sort == "modified":
                return _newest(found, query)
            return _page(found, query)

    def _grep(self, query: GrepQuery, stop: threading.Event) -> GrepResult:
        def check() -> None:
            if stop.is_set():
                raise Stopped

        page = GrepPage(query, LineMatcher(query, check))
        feed = FileFeed(page, query.max_file_bytes, stop, self._beneath.hidden_places)
        glob = compile_glob(query.glob or "*", case_insensitive=query.glob_case_insensitive)
        if not self._grep_one(query, page, stop):
            walk = self._walk(query)
            with self._start(query.path, respect_ignore=query.respect_ignore) as start:
                cut = len(start.prefix)
                for entry in walk.entries(start.folder, start.prefix, start.rules):
                    if page.full:
                        break
                    if entry.kind == "file" and glob(entry.path[cut:]):
                        feed.add(entry)
            page.skipped += walk.skipped
        feed.flush()
        return page.result()

    def _walk(self, query: FindQuery | GrepQuery) -> Walk:
        return Walk(
            self._cache,
            respect_ignore=query.respect_ignore,
            include_hidden=query.include_hidden,
            max_depth=query.max_depth,
            closed=self._beneath.hidden_places,
        )

    def _grep_one(self, query: GrepQuery, page: GrepPage, stop: threading.Event) -> bool:
        """Search the path itself if it is a file; False if it is a directory."""
        path = query.path
        with self._beneath.opened(path, os.O_PATH) as descriptor:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return False
        with self._beneath.file(path) as (descriptor, _):
            feed = FileFeed(page, query.max_named_bytes, stop)
            try:
                feed.read(self._beneath.join(self._beneath.parts(path)), descriptor)
            except OSError as error:
                raise failure(error, path) from None
            feed.flush()
        return True

    @contextmanager
    def _start(self, path: str, *, respect_ignore: bool) -> Iterator[_Start]:
        """Yield the folder to walk, and the rules of the folders above it.

        An ignored folder given by name is searched, without the rules above it.
        """
        parts = self._beneath.parts(path)
        prefix = f"{self._beneath.join(parts)}/" if parts else self._beneath.join(()).strip(".")
        with self._beneath.folder(path) as folder:
            rules = self._rules_above(parts) if respect_ignore else None
            yield _Start(folder, prefix, rules)

    def _rules_above(self, parts: tuple[str, ...]) -> IgnoreRules | None:
        rules: IgnoreRules | None = None
        if ".." in parts:  # folders on the path are not folders above
            return None
        for count in range(self._beneath.depth(parts, self._beneath.join(parts)), len(parts)):
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
    """Return the page by time, newest first, then by path."""
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
