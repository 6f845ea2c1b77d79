"""The content of the folders of a workspace near its root, remembered until a folder changes.

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
"Sorted names in a folder, and whether each is a folder."

_NOTHING: Entries = []


class Listings:
    """The folders of one workspace; opened beneath its root, so that no link leads out."""

    def __init__(self, beneath: Beneath) -> None:
        self.beneath = beneath
        self._listed: dict[str, tuple[Signature, Entries]] = {}

    def walk(self, known: Collection[str] = ()) -> dict[str, Entries]:
        """Folders by their path relative to the root, the nearest first.

        Args:
            known: those that were there before: they are among them in any case, so that
                whoever makes hundreds of folders hides none.
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
        """What is in a folder; the same list as long as nothing is made or removed in it."""
        state = _state(f"{self.beneath.root}/{folder}")
        if state is None:
            return _NOTHING
        known = self._listed.get(folder)
        if known is None or known[0] != state:
            known = self._listed[folder] = state, self._list(folder)
        return known[1]

    def names(self, folder: str) -> list[str]:
        """The names of all that is in a folder."""
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
    """The path of what is called `name` in `folder`."""
    return name if folder == "." else f"{folder}/{name}"


def _state(path: str) -> Signature | None:
    """What changes when something is made or removed in a folder; nobody can set its ctime."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return signature_of(status) if stat.S_ISDIR(status.st_mode) else None
