"""Contents of the folders of a workspace near its root, cached until a folder changes.

Everything here blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress

from app.core.errors import TollgateError
from app.operations.ignore import HEAVY_FOLDERS
from app.operations.local.beneath import Beneath
from app.operations.local.steps import Signature, signature_of

MAX_FOLDERS = 200
MAX_DEPTH = 2
_MAX_LISTED = 2000

Entries = list[tuple[str, bool]]
"""Sorted names in a folder, and whether each is a folder."""

_NOTHING: Entries = []


class Listings:
    """Folders of one workspace, opened beneath its root, so that no link leads out."""

    def __init__(self, beneath: Beneath) -> None:
        self.beneath = beneath
        self._listed: dict[str, tuple[Signature, Entries]] = {}

    def walk(self, known: Collection[str] = ()) -> dict[str, Entries]:
        """Return the folders by path relative to the root, nearest first.

        Args:
            known: previously known folders, always included, so that creating hundreds of folders
                hides none.
        """
        if len(self._listed) > _MAX_LISTED:
            self._listed.clear()
        found: dict[str, Entries] = {}
        waiting = [(start, 0) for start in self.beneath.roots or (".",)]
        for folder, depth in waiting:
            if len(found) >= MAX_FOLDERS:
                break
            entries = found[folder] = self.entries(folder)
            if depth < MAX_DEPTH:
                waiting += [
                    (below(folder, name), depth + 1)
                    for name, is_folder in entries
                    if is_folder and name not in HEAVY_FOLDERS
                ]
        for folder in known:
            if folder not in found:
                found[folder] = self.entries(folder)
        return found

    def entries(self, folder: str) -> Entries:
        """Return the contents of a folder; the same list as long as nothing is created or
        removed in it.
        """
        state = _state(f"{self.beneath.root}/{folder}")
        if state is None:
            return _NOTHING
        known = self._listed.get(folder)
        if known is None or known[0] != state:
            known = self._listed[folder] = state, self._list(folder)
        return known[1]

    def names(self, folder: str) -> list[str]:
        """Return all names in a folder."""
        return [name for name, _ in self.entries(folder)]

    def _list(self, folder: str) -> Entries:
        with (
            suppress(TollgateError, OSError),
            self.beneath.folder(folder) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in entries)
        return []


def below(folder: str, name: str) -> str:
    """Return the path of `name` in `folder`."""
    return name if folder == "." else f"{folder}/{name}"


def _state(path: str) -> Signature | None:
    """Return values that change when a folder's contents change; ctime cannot be forged."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return signature_of(status) if stat.S_ISDIR(status.st_mode) else None
