"""Restoration or report of a sandboxed program's changes to files that others run."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from app.core.protected_paths import GIT, PathSet, ProtectedPath
from app.operations.local.beneath import Beneath
from app.operations.local.listings import Listings
from app.operations.local.owners import give_file, give_folder
from app.operations.local.protected_files import ProtectedFiles, ProtectedState
from app.operations.local.repositories import GitSeen, Repositories
from app.operations.local.snapshots import FileSnapshot
from app.operations.local.steps import write_all
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.protocols.processes import MayChange

# A program that runs longer overlaps with a person's work on the same files: the origin of a change
# is then unknown, so it is reported and left.
_SURE_S = 600.0

_OPEN_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class FileChanges:
    """Changes by one program: restored, left, or only reported.

    Attributes:
        put_aside: folder with the undone contents.
    """

    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    put_aside: str | None = None


@dataclass(slots=True)
class Approvals:
    """Programs of a workspace that may change such files: currently running, and total."""

    now: int = 0
    ever: int = 0


class WatchedProgramFiles:
    """Files of one workspace that other programs run, and the programs that may change them now."""

    def __init__(self, beneath: Beneath, released: PathSet) -> None:
        self.listings = Listings(beneath)
        self.repositories = Repositories(self.listings)
        self.protected = ProtectedFiles(self.listings, released)
        self.lock = threading.Lock()
        # Start times of programs that are not settled yet.
        self.running: dict[int, int] = {}
        self.approvals: dict[MayChange, Approvals] = {"git": Approvals(), "files": Approvals()}


@dataclass(slots=True)
class ChangeWatch:
    """Watch of one program: inspect before it starts, settle when its tree has ended.

    Attributes:
        approved: what the program may change permanently.
        aside: folder for undone contents; None discards them.
    """

    files: WatchedProgramFiles
    approved: frozenset[MayChange] = frozenset()
    long_lived: bool = False
    aside: Callable[[], str | None] = lambda: None
    git_before: GitSeen = field(default_factory=GitSeen)
    before: ProtectedState = field(default_factory=ProtectedState)
    started: float = field(default_factory=time.monotonic)
    ever: dict[MayChange, int] = field(default_factory=dict)
    folders: frozenset[str] = frozenset()
    _settled: asyncio.Future[FileChanges] | None = None

    async def begin(self) -> tuple[str, ...]:
        """Record the present state; return paths that an unapproved program may only read."""
        for kind, approvals in self.files.approvals.items():
            approvals.now += kind in self.approved
            approvals.ever += kind in self.approved
            self.ever[kind] = approvals.ever
        try:
            return await to_end(run_in(PROCESSES, self._look))
        except BaseException:  # it does not start, so nothing will be settled
            self.files.running.pop(id(self), None)
            self._end_approval()
            raise

    def _look(self) -> tuple[str, ...]:
        with self.files.lock:
            return self._looked(self.files)

    def _looked(self, files: WatchedProgramFiles) -> tuple[str, ...]:
        walked = files.listings.walk()
        self.folders = frozenset(walked)
        self.git_before = files.repositories.look(walked)
        since = min(files.running.values(), default=None)
        self.before = files.protected.look(walked, self.git_before.hook_folders, since)
        files.running[id(self)] = time.time_ns()
        if "git" in self.approved:
            return ()
        # A long-running program would have its change in place for hours.
        if self.long_lived:
            return tuple(files.repositories.folders())
        return tuple(files.repositories.kept_from_writing(self.git_before))

    async def settle(self) -> FileChanges:
        """Undo changes once; later calls return the same result."""
        if self._settled is None:
            self._settled = asyncio.ensure_future(self._settle())
        return await asyncio.shield(self._settled)

    def _end_approval(self) -> None:
        for kind in self.approved:
            self.files.approvals[kind].now -= 1

    async def _settle(self) -> FileChanges:
        self._end_approval()
        return await to_end(run_in(PROCESSES, self._compare))

    def _compare(self) -> FileChanges:
        with self.files.lock:
            try:
                return self._compared(self.files)
            finally:
                self.files.running.pop(id(self), None)

    def _compared(self, files: WatchedProgramFiles) -> FileChanges:
        walked = files.listings.walk(self.folders)
        undone: list[str] = []
        left: list[str] = []
        if "git" in self.approved:
            pass
        elif self._is_sure("git"):
            undone, left = files.repositories.put_back(walked, self.git_before)
        else:
            left = files.repositories.changed(walked, self.git_before)
        hooks = self.git_before.hook_folders
        changed = files.protected.changed(walked, hooks, self.before, self._may_change)
        reported, aside = changed.report, None
        if not self._is_sure("files"):
            reported += changed.undo
        elif changed.undo:
            aside = put_aside(self.aside(), changed.undo)
            for path in changed.undo:
                done = files.protected.put_back(path, self.before)
                (undone if done else reported).append(path)
        return FileChanges(tuple(undone), tuple(left), tuple(sorted(reported)), aside)

    def _may_change(self, row: ProtectedPath) -> bool:
        return "files" in self.approved or ("git" in self.approved and row.run_by in GIT)

    def _is_sure(self, kind: MayChange) -> bool:
        """Return whether a change is this program's own.

        It is if no approved program ran concurrently, and the run was too short for a person to
        interfere.
        """
        approvals = self.files.approvals[kind]
        mixed = approvals.now > 0 or approvals.ever != self.ever[kind]
        return not mixed and time.monotonic() - self.started <= _SURE_S


# Backup of undone file contents.
#
# The folder belongs to the programs: files in it are created through descriptors only, so that no
# link leads elsewhere. Blocks.


def put_aside(folder: str | None, files: Mapping[str, FileSnapshot]) -> str | None:
    """Save `files` in a new folder inside `folder`; return its path, or None if none is saved.

    Their names are their paths with `_` for each slash, so that no program uses them.
    """
    if folder is None or all(kept.data is None for kept in files.values()):
        return None
    name = f"put-back-{secrets.token_hex(4)}"
    with suppress(OSError):
        parent = os.open(folder, _OPEN_FOLDER)
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            give_folder(parent, name)
            inside = os.open(name, _OPEN_FOLDER, dir_fd=parent)
        finally:
            os.close(parent)
        try:
            for path, kept in files.items():
                if kept.data is not None:
                    _write_new(inside, "_" + path.replace("/", "_"), kept.data)
        finally:
            os.close(inside)
        return f"{folder}/{name}"
    return None


def _write_new(folder: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        give_file(descriptor, folder, name)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
