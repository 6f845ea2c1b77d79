"""Files of a workspace written by its sessions; commands that run one are evaluated by its content.

State belongs to the workspace and not to a session: one session may run what another wrote. A
written file is recognized in two ways. Tools and commands name most files they write. Otherwise the
time decides: a file that changed while a call ran in the workspace counts as written by it, even if
a program, git or an archive wrote it.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from app.db.statements import BUMP_WRITTEN, KEEP_WRITTEN
from app.db.writer import DatabaseWriter, Transaction
from app.execution.context import Project
from app.execution.provenance.reader import Known, look
from app.governance.config_versions import ConfigVersions
from app.policy.risk.model import FileRun, Given

MAX_FILES = 5_000
MAX_SPANS = 5_000
MAX_ACCEPTED = 1_000
MAX_WORKSPACES = 2_000
MAX_AGE_S = 30 * 24 * 3600
"""Files unchanged for this long are part of the project."""
_CLOCK_S = 0.02
"""Maximum lag of a file system's clock."""
_TOGETHER_S = 1.0
_OVERLAP_S = 30.0
_TIDIES_EVERY_S = 24 * 3600

Kind = Literal["span", "file", "accepted"]
_SUBJECT = "written"
_LOAD = "SELECT root, kind, name, began, ended FROM written WHERE ended > ? OR ended = 0"
_FORGET = "DELETE FROM written WHERE ended > 0 AND ended < ?"
# Maximum time for which an unfinished call counts as writing.
_CUT_OFF = "UPDATE written SET ended = ? WHERE ended = 0"


@dataclass(slots=True)
class _Workspace:
    """State of one workspace. `starts` and `ends` belong to spans, which do not overlap."""

    files: OrderedDict[str, float] = field(default_factory=OrderedDict)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    accepted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    running: int = 0
    since: float | None = None
    projects: set[str] = field(default_factory=set)

    def how_known(self, path: str, changed: float) -> Known | None:
        """Return how it is known that a session wrote `path`, last changed at `changed`."""
        if path in self.files:
            return "named"
        if self.since is not None and changed >= self.since - _CLOCK_S:
            return "timed"
        at = bisect_right(self.starts, changed + _CLOCK_S) - 1
        return "timed" if at >= 0 and changed <= self.ends[at] + _CLOCK_S else None


def _in_none(_: str) -> bool:
    return False


class WrittenFiles:
    """Bounded store: the workspace idle the longest is evicted first, then the oldest file or span.

    Args:
        is_worked_in: whether a background process runs in a project.
        now: Unix time as used by file systems.
    """

    def __init__(
        self,
        db: DatabaseWriter | None = None,
        changes: ConfigVersions | None = None,
        *,
        is_worked_in: Callable[[str], bool] = _in_none,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._db = db
        self._is_worked_in = is_worked_in
        self._now = now
        self._workspaces: OrderedDict[str, _Workspace] = OrderedDict()
        self._read = self._tidied = 0.0
        if changes is not None:
            changes.watch(_SUBJECT, self._load_more)

    def watch(self, is_worked_in: Callable[[str], bool]) -> None:
        """Set the source of background processes."""
        self._is_worked_in = is_worked_in

    async def load(self) -> None:
        """Load the stored state; drop what is too old.

        Raises:
            StorageUnavailable: the database is not readable.
        """
        now = self._now()
        statements = ((_FORGET, now - MAX_AGE_S), (_CUT_OFF, now))
        await self._fetch(now - MAX_AGE_S, statements)

    async def _load_more(self) -> None:
        """Load the additions of other processes."""
        statements: tuple[tuple[str, float], ...] = ()
        if self._read - self._tidied > _TIDIES_EVERY_S:
            statements = ((_FORGET, self._read - MAX_AGE_S),)
        await self._fetch(self._read - _OVERLAP_S, statements)

    async def _fetch(self, since: float, statements: Sequence[tuple[str, float]] = ()) -> None:
        if self._db is None:
            return
        now = self._read = self._now()
        if statements:
            self._tidied = now

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            for sql, moment in statements:
                transaction.execute(sql, (moment,))
            return transaction.fetch(_LOAD, (since,))

        spans: dict[str, list[tuple[float, float]]] = {}
        for root, kind, name, began, ended in await self._db.transact(read):
            workspace = self._of(root)
            if kind == "span":
                spans.setdefault(root, []).append((began, ended or now))
            elif kind == "file":
                workspace.files.setdefault(name, began)
            else:
                workspace.accepted[name] = None
        for root, found in spans.items():
            workspace = self._of(root)
            known = zip(workspace.starts, workspace.ends, strict=True)
            workspace.starts, workspace.ends = [], []
            for began, ended in sorted([*known, *found]):
                _add_span(workspace, began, ended)

    def begin(self, project: Project) -> None:
        """Record the start of a call with side effects in the workspace."""
        workspace = self._of(project.root)
        workspace.projects.add(project.id)
        workspace.running += 1
        if workspace.since is None:
            workspace.since = self._now()
            if workspace.ends and 0 <= workspace.since - workspace.ends[-1] < _TOGETHER_S:
                workspace.since = workspace.starts.pop()
                workspace.ends.pop()
            self._keep(project.root, "span", f"{workspace.since:.4f}", workspace.since, 0)

    def end(self, project: Project, named: Iterable[str] = ()) -> None:
        """Record the end of a call, which may have written the files it named.

        Its background processes may still write.
        """
        workspace = self._of(project.root)
        workspace.running -= 1
        since = workspace.since or self._now()
        self.note(project.root, [path for path in named if _changed(path) >= since - _CLOCK_S])
        self._settle(project.root, workspace)

    def note(self, root: str, paths: Iterable[str]) -> None:
        """Record absolute paths written by a tool or a command."""
        workspace = self._of(root)
        for path in paths:
            real = os.path.realpath(path)
            if not _is_below(real, root):
                continue
            workspace.files.pop(real, None)
            workspace.files[real] = self._now()
            self._keep(root, "file", real, workspace.files[real], workspace.files[real])
        while len(workspace.files) > MAX_FILES:
            workspace.files.popitem(last=False)

    def accept(self, root: str, command: str, judged: Iterable[tuple[str, str]]) -> None:
        """Record that a person approved `command` with files of this content."""
        workspace = self._of(root)
        for path, digest in judged:
            key = _accepted_key(command, path, digest)
            workspace.accepted[key] = None
            self._keep(root, "accepted", key, self._now(), self._now())
        self._tell()
        while len(workspace.accepted) > MAX_ACCEPTED:
            workspace.accepted.popitem(last=False)

    def content(self, root: str, command: str, runs: Sequence[FileRun]) -> tuple[Given, ...]:
        """Return the present content of files that sessions wrote; blocks, bounded."""
        workspace = self._workspaces.get(root)
        if workspace is None:
            return ()
        self._settle(root, workspace)
        if not (workspace.files or workspace.starts or workspace.since is not None):
            return ()
        found = look(root, runs, workspace.how_known)
        return tuple(
            one._replace(accepted=True)
            if _accepted_key(command, one.path, one.digest) in workspace.accepted
            else one
            for one in found
        )

    def _settle(self, root: str, workspace: _Workspace) -> None:
        """End the present span if nothing runs any more."""
        if workspace.since is None or workspace.running > 0:
            return
        if any(map(self._is_worked_in, workspace.projects)):
            return
        began, workspace.since = workspace.since, None
        ended = self._now()
        _add_span(workspace, began, ended)
        self._keep(root, "span", f"{began:.4f}", began, ended)
        self._tell()

    def _of(self, root: str) -> _Workspace:
        workspace = self._workspaces.setdefault(root, _Workspace())
        self._workspaces.move_to_end(root)
        while len(self._workspaces) > MAX_WORKSPACES:
            self._workspaces.popitem(last=False)
        return workspace

    def _keep(self, root: str, kind: Kind, name: str, began: float, ended: float) -> None:
        if self._db is not None:
            self._db.append(KEEP_WRITTEN, (root, kind, name, began, ended))

    def _tell(self) -> None:
        """Notify other processes on the same database of additions."""
        if self._db is not None:
            self._db.append(BUMP_WRITTEN, (_SUBJECT,))


def _add_span(workspace: _Workspace, began: float, ended: float) -> None:
    """Append a span, merged with those it overlaps, since clocks may be set back."""
    while workspace.ends and began <= workspace.ends[-1]:
        began, ended = min(began, workspace.starts.pop()), max(ended, workspace.ends.pop())
    workspace.starts.append(began)
    workspace.ends.append(ended)
    del workspace.starts[:-MAX_SPANS], workspace.ends[:-MAX_SPANS]


def _changed(path: str) -> float:
    """Return when a file was last changed; long ago if it does not exist."""
    try:
        return Path(path).stat().st_ctime
    except (OSError, ValueError):
        return 0.0


def _accepted_key(command: str, path: str, digest: str) -> str:
    return sha256(f"{command}\0{path}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()


def _is_below(path: str, root: str) -> bool:
    return path.startswith(os.path.realpath(root).rstrip("/") + "/")
