"""Files run by git in the repositories of a workspace, compared before and after a program ran.

A sandboxed program may write `.git/config` and `.git/hooks`, because git itself does. Their content
is run later, by the next git command, outside the sandbox and as the user. Changes that make git
run something are therefore undone after the program has ended, unless the call was approved for
them. Everything here blocks.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from app.core.errors import TollgateError
from app.core.git_config import led_to, risky_settings
from app.operations.local.beneath import Beneath
from app.operations.local.listings import Entries, Listings, below
from app.operations.local.snapshots import FileSnapshot, Snapshot, Snapshots

_MAX_FILES = 2000
_MAX_DEPTH = 2
_MAX_CHAIN = 3
_SETTINGS = ("config", "config.worktree")
_FOLDERS = ("hooks", "info", "modules", "worktrees")
_BARE = frozenset({"HEAD", "objects", "refs"})
# Inspected first, so that thousands of other files cannot hide these.
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

_Kind = Literal["settings", "tree", "common", "exact"]
"""Criterion of a change: its settings, its target, or any change at all."""


@dataclass(slots=True)
class _Followed:
    files: dict[str, _Kind] = field(default_factory=dict)
    linked: list[str] = field(default_factory=list)
    hook_folders: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GitSeen:
    """Files that git runs or reads as configuration, at one moment.

    Attributes:
        kinds: how each file is compared, including missing ones.
        linked: targets of links that replace a folder of hooks.
        hook_folders: folders outside `.git` with hooks, and the work tree that configures them.
    """

    files: Snapshot = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    kinds: dict[str, _Kind] = field(default_factory=dict)
    linked: tuple[str, ...] = ()
    hook_folders: dict[str, str] = field(default_factory=dict)


class Repositories:
    """Repositories of one workspace, within a few levels of folders."""

    def __init__(self, listings: Listings) -> None:
        self._beneath: Beneath = listings.beneath
        self._listings = listings
        self._snapshots = Snapshots(self._beneath)
        self._folders: list[str] = []

    def look(self, walked: Mapping[str, Entries]) -> GitSeen:
        """Return every file that git runs or reads as configuration, by path relative to the root.

        Args:
            walked: folders to inspect.
        """
        self._folders = list(dict.fromkeys(self._git_folders(walked)))
        seen = GitSeen({}, tuple(self._folders), dict(self._files()))
        files = self._snapshots.take(seen.kinds, _MAX_FILES)
        # Targets of links and settings are included; chains are followed only briefly.
        for _ in range(_MAX_CHAIN):
            followed = _Followed()
            for path, kept in files.items():
                self._follow(path, kept, seen.kinds[path], followed)
            seen.hook_folders.update(followed.hook_folders)
            seen = replace(seen, linked=tuple(dict.fromkeys((*seen.linked, *followed.linked))))
            more = {p: kind for p, kind in followed.files.items() if p not in seen.kinds}
            if not more:
                break
            seen.kinds.update(more)
            files = self._snapshots.take(seen.kinds, _MAX_FILES + len(more))
        return replace(seen, files=files)

    def folders(self) -> list[str]:
        """Return absolute paths of the git folders at the last inspection."""
        return [self._absolute(folder) for folder in self._folders]

    def kept_from_writing(self, seen: GitSeen) -> list[str]:
        """Return absolute paths that a program may not write: hooks, and files that could not be
        restored.
        """
        hooks = [self._absolute(f"{folder}/hooks") for folder in self._folders]
        unknown = [path for path, kept in seen.files.items() if not kept.is_known]
        return hooks + [self._absolute(path) for path in unknown]

    def put_back(
        self, walked: Mapping[str, Entries], before: GitSeen
    ) -> tuple[list[str], list[str]]:
        """Undo changes that make git run something; return the paths, and those that failed.

        Changes of git's behavior alone stay, such as a remote or an author's name.
        """
        undone: list[str] = []
        failed: list[str] = []
        for path in self.changed(walked, before):
            done = self._snapshots.put_back(path, before.files.get(path))
            (undone if done else failed).append(path)
        return undone, failed

    def changed(self, walked: Mapping[str, Entries], before: GitSeen) -> list[str]:
        """Return changes that make git run something new.

        A new link is itself a change: its target is not restored.
        """
        fresh = self._git_folders(walked, follow=False)
        self._folders = list(dict.fromkeys((*before.folders, *fresh)))
        kinds = before.kinds | dict(self._files())
        for folder in before.linked:
            kinds |= dict(self._hooks(folder))
        changed = []
        for path, kept in self._snapshots.take(kinds, _MAX_FILES + len(kinds)).items():
            known = before.files.get(path)
            if not self._is_harmless(path, kinds[path], known, kept):
                changed.append(path)
        return changed

    def _absolute(self, path: str) -> str:
        return f"{self._beneath.root}/{path}"

    def _is_harmless(
        self, path: str, kind: _Kind, before: FileSnapshot | None, after: FileSnapshot
    ) -> bool:
        """Return whether git runs nothing new after a change."""
        if before is not None and before.is_same(after):
            return True
        if after.data is None:
            return False
        if kind == "settings":
            known = risky_settings(_text(before.data)) if before and before.data else frozenset()
            fresh = risky_settings(_text(after.data)) - known
            return all(self._is_own_tree(path, setting) for setting in fresh)
        if kind == "tree":
            return self._leads_inside(path, _text(after.data))
        if kind == "common" and _INNER.search(path):
            return after.data.strip() == _TO_ITS_PARENT
        return False

    def _is_own_tree(self, path: str, setting: str) -> bool:
        """Return whether a setting names the working tree of a submodule, as git itself sets it."""
        name, _, value = setting.partition("=")
        tree = posixpath.normpath(posixpath.join(posixpath.dirname(path), value.strip('"')))
        inside = not posixpath.isabs(tree) and tree.split("/")[0] not in ("..", ".git")
        return name == "core.worktree" and inside and _INNER.search(path) is not None

    def _leads_inside(self, path: str, text: str) -> bool:
        """Return whether a `.git` file names an inspected folder of a submodule or worktree."""
        place = self._place(path, text.removeprefix("gitdir:").strip())
        return place is not None and _INNER.search(place) is not None and place in self._folders

    def _place(self, path: str, target: str) -> str | None:
        """Return the location of a path in a file, relative to the root; None outside it."""
        start = "" if target.startswith("/") else posixpath.dirname(path)
        target = target.removeprefix(f"{self._beneath.root}/")
        place = posixpath.normpath(posixpath.join(start, target))
        return None if place.split("/")[0] in ("", "..", "~") else place

    def _files(self) -> Iterator[tuple[str, _Kind]]:
        for folder in self._folders:
            kind = self._type(folder)
            if kind != "directory":
                # A file or link in its place redirects git to another folder.
                yield folder, "tree"
                continue
            for name in _SETTINGS:
                yield f"{folder}/{name}", "settings"
            yield f"{folder}/commondir", "common"
            yield f"{folder}/info/attributes", "exact"
            for name in _FOLDERS:
                if self._type(f"{folder}/{name}") == "other":
                    yield f"{folder}/{name}", "exact"
            yield from self._hooks(f"{folder}/hooks")

    def _hooks(self, folder: str) -> Iterator[tuple[str, _Kind]]:
        hooks = [name for name in self._listings.names(folder) if name[-7:] != ".sample"]
        hooks.sort(key=lambda name: name not in _HOOKS)
        for name in hooks:
            yield f"{folder}/{name}", "exact"

    def _follow(self, path: str, kept: FileSnapshot, kind: _Kind, followed: _Followed) -> None:
        """Add targets of links and of include settings."""
        if kept.link is not None and kind != "tree":
            place = self._snapshots.led_to(path)
            if place is None:
                return
            if self._type(place) != "directory":
                followed.files[place] = kind
            elif path.endswith("/hooks"):
                followed.linked.append(place)
                followed.files.update(self._hooks(place))
        elif kind == "settings" and kept.data:
            included, hooks = led_to(_text(kept.data))
            places = [self._place(path, name) for name in included]
            followed.files.update({p: "settings" for p in places if p is not None})
            tree = posixpath.dirname(path).removesuffix(".git").rstrip("/") or "."
            for name in hooks:
                place = self._place(f"{tree}/config", name)
                if place is not None and place != ".":
                    followed.hook_folders[place] = tree

    def _git_folders(self, walked: Mapping[str, Entries], *, follow: bool = True) -> Iterator[str]:
        """Yield the git folders of every repository, submodule, worktree and bare repository."""
        for folder, entries in walked.items():
            if {name for name, _ in entries} >= _BARE:
                yield folder
            for name, is_folder in entries:
                if name.casefold() != ".git":
                    continue
                path = below(folder, name)
                yield path
                yield from self._inner(path, 0)
                elsewhere = self._elsewhere(path) if follow and not is_folder else None
                if elsewhere is not None:
                    yield elsewhere
                    yield from self._inner(elsewhere, 0)

    def _elsewhere(self, path: str) -> str | None:
        """Return the target folder of a `.git` file, if it is in the workspace."""
        kept = Snapshots(self._beneath).take((path,), 1).get(path)
        if kept is None:
            return None
        if kept.link is not None:
            return self._snapshots.led_to(path)
        text = _text(kept.data or b"")
        named = text.startswith("gitdir:")
        return self._place(path, text.removeprefix("gitdir:").strip()) if named else None

    def _inner(self, folder: str, depth: int) -> Iterator[str]:
        for kind in ("modules", "worktrees"):
            for name, is_folder in self._listings.entries(f"{folder}/{kind}"):
                path = f"{folder}/{kind}/{name}"
                if is_folder and depth < _MAX_DEPTH:
                    yield path
                    yield from self._inner(path, depth + 1)

    def _type(self, path: str) -> str | None:
        """Return `directory`, `other` for anything else, None if missing."""
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (TollgateError, OSError):
            return None
        return "directory" if stat.S_ISDIR(status.st_mode) else "other"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
