"""What git runs in the repositories of a workspace, compared before and after a program ran.

A sandboxed program may write `.git/config` and `.git/hooks`, for git itself does. But what they
say is run later, by the next git command, outside the sandbox and as the person. So what makes git
run something is put back after the program has ended, unless the call was approved for it.
Everything here blocks.
"""

from __future__ import annotations

import os
import posixpath
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from app.core.errors import TollgateError
from app.core.git_config import risky_settings
from app.operations.ignore import HEAVY_FOLDERS
from app.operations.local.beneath import Beneath
from app.operations.local.owners import give_file
from app.operations.local.steps import Signature, signature_of, write_all

_MAX_FOLDERS = 200
_MAX_DEPTH = 2
_MAX_FILES = 2000
_MAX_LISTED = 2000
_MAX_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SETTINGS = ("config", "config.worktree")
_OBEYED = (*_SETTINGS, "commondir", "info/attributes")
_FOLDERS = ("hooks", "info", "modules", "worktrees")
_BARE = frozenset({"HEAD", "objects", "refs"})
# Looked at first: whoever makes thousands of other files there hides none of these.
_HOOKS = frozenset(
    (
        *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
        *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
        *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
        *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
        *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
    )
)
_INNER = re.compile(r"(?:^|/)\.git/(?:modules|worktrees)/")
_TO_ITS_PARENT = b"../.."


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was: `data` is None for what is no plain file of a sensible size."""

    signature: Signature
    data: bytes | None
    mode: int


Snapshot = dict[str, Kept]


class Repositories:
    """The repositories of one workspace, no deeper than a few folders.

    Files are opened beneath the workspace's root: no link leads out.
    """

    def __init__(self, beneath: Beneath) -> None:
        self._beneath = beneath
        self._last: Snapshot = {}
        self._folders: list[str] = []
        self._listed: dict[str, tuple[Signature, list[tuple[str, bool]]]] = {}

    def look(self, *known: str) -> Snapshot:
        """Every file that git runs or obeys, by its path relative to the root.

        Args:
            known: paths that are looked at in any case.
        """
        found: Snapshot = {}
        self._folders = list(self._git_folders())
        for path in chain(known, self._files()):
            kept = self._kept(path)
            if kept is not None:
                found[path] = kept
            if len(found) >= _MAX_FILES + len(known):
                break
        self._last = found
        if len(self._listed) > _MAX_LISTED:
            self._listed.clear()
        return found

    def folders(self) -> list[str]:
        """Absolute paths of the git folders, as they were looked at last."""
        return [f"{self._beneath.root}/{folder}" for folder in self._folders]

    def put_back(self, before: Snapshot) -> tuple[list[str], list[str]]:
        """Undo what makes git run something; the paths, and those where that failed.

        What only changes how git behaves stays, such as a remote or the name of an author.
        """
        undone: list[str] = []
        failed: list[str] = []
        for path in self.changed(before):
            (undone if self._undo(path, before.get(path)) else failed).append(path)
        return undone, failed

    def changed(self, before: Snapshot) -> list[str]:
        """What now makes git run something that it did not run before."""
        changed = []
        for path, kept in self.look(*before).items():
            known = before.get(path)
            if known is not None and known.signature == kept.signature:
                continue
            if not self._is_harmless(path, known, kept):
                changed.append(path)
        return changed

    def _is_harmless(self, path: str, before: Kept | None, after: Kept) -> bool:
        """Whether git runs nothing after a change that it did not run before it."""
        if after.data is None:
            return False
        name = path.rpartition("/")[2]
        if name in _SETTINGS:
            known = risky_settings(_text(before.data)) if before and before.data else frozenset()
            fresh = risky_settings(_text(after.data)) - known
            return all(self._is_own_tree(path, setting) for setting in fresh)
        if name == ".git":
            return self._leads_inside(path, _text(after.data))
        if name == "commondir" and _INNER.search(path):
            return after.data.strip() == _TO_ITS_PARENT
        return before is not None and (before.data, before.mode) == (after.data, after.mode)

    def _is_own_tree(self, path: str, setting: str) -> bool:
        """Whether it names the working tree of a submodule, as git itself sets it."""
        name, _, value = setting.partition("=")
        tree = posixpath.normpath(posixpath.join(posixpath.dirname(path), value.strip('"')))
        inside = not posixpath.isabs(tree) and tree.split("/")[0] not in ("..", ".git")
        return name == "core.worktree" and inside and _INNER.search(path) is not None

    def _leads_inside(self, path: str, text: str) -> bool:
        """Whether a `.git` file names a submodule's or a worktree's folder, which are looked at."""
        target = text.removeprefix("gitdir:").strip()
        start = "" if target.startswith("/") else posixpath.dirname(path)
        target = target.removeprefix(f"{self._beneath.root}/")
        place = posixpath.normpath(posixpath.join(start, target))
        return _INNER.search(place) is not None and place in self._folders

    def _files(self) -> Iterator[str]:
        for folder in self._folders:
            kind = self._type(folder)
            if kind != "directory":
                # A file or a link in its place leads git to another folder.
                yield folder
                continue
            for name in _OBEYED:
                yield f"{folder}/{name}"
            for name in _FOLDERS:
                if self._type(f"{folder}/{name}") == "other":
                    yield f"{folder}/{name}"
            hooks = [name for name in self._names(f"{folder}/hooks") if name[-7:] != ".sample"]
            hooks.sort(key=lambda name: name not in _HOOKS)
            yield from (f"{folder}/hooks/{name}" for name in hooks)

    def _git_folders(self) -> Iterator[str]:
        """Those of every repository, its submodules and worktrees, and bare ones."""
        starts = self._beneath.roots or (".",)
        waiting = [(start, 0) for start in starts]
        seen = 0
        while waiting and seen < _MAX_FOLDERS:
            folder, depth = waiting.pop(0)
            seen += 1
            entries = self._entries(folder)
            if {name for name, _ in entries} >= _BARE:
                yield folder
            for name, is_folder in entries:
                path = name if folder == "." else f"{folder}/{name}"
                if name.casefold() == ".git":
                    yield path
                    yield from self._inner(path, 0)
                elif is_folder and depth < _MAX_DEPTH and name not in HEAVY_FOLDERS:
                    waiting.append((path, depth + 1))

    def _inner(self, folder: str, depth: int) -> Iterator[str]:
        for kind in ("modules", "worktrees"):
            for name, is_folder in self._entries(f"{folder}/{kind}"):
                path = f"{folder}/{kind}/{name}"
                if is_folder and depth < _MAX_DEPTH:
                    yield path
                    yield from self._inner(path, depth + 1)

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """What is in a folder: name and whether it is a folder; remembered until it changes."""
        state = _state(f"{self._beneath.root}/{folder}")
        if state is None:
            return []
        known = self._listed.get(folder)
        if known is None or known[0] != state:
            known = self._listed[folder] = state, self._list(folder)
        return known[1]

    def _list(self, folder: str) -> list[tuple[str, bool]]:
        with (
            suppress(TollgateError, OSError),
            self._beneath.folder(folder) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            return [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
        return []

    def _names(self, folder: str) -> list[str]:
        return [name for name, _ in self._entries(folder)]

    def _type(self, path: str) -> str | None:
        """`directory`, `other` for anything else, None for nothing."""
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (TollgateError, OSError):
            return None
        return "directory" if stat.S_ISDIR(status.st_mode) else "other"

    def _kept(self, path: str) -> Kept | None:
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    return None
                signature = signature_of(status)
                last = self._last.get(path)
                if last is not None and last.signature == signature:
                    return last
                return Kept(signature, _content(folder, name, status), status.st_mode & 0o777)
        except (TollgateError, OSError):
            return None

    def _undo(self, path: str, before: Kept | None) -> bool:
        """Put a file back as it was, or take it away; whether that was done."""
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                if before is None or before.data is None:
                    os.unlink(name, dir_fd=folder)
                    return True
                fresh = f".{secrets.token_hex(8)}.tmp"
                descriptor = os.open(fresh, _NEW, 0o600, dir_fd=folder)
                try:
                    give_file(descriptor, folder, name)
                    write_all(descriptor, before.data)
                    os.fchmod(descriptor, before.mode)
                finally:
                    os.close(descriptor)
                os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
                return True
        except (TollgateError, OSError):
            return False


def _state(path: str) -> Signature | None:
    """What changes when something is made or removed in a folder; nobody can set its ctime."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return signature_of(status) if stat.S_ISDIR(status.st_mode) else None


def _content(folder: int, name: str, status: os.stat_result) -> bytes | None:
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        return None
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        return os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
