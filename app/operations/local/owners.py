"""Ownership of new files if the service is root: the owner of the containing folder.

A workspace often belongs to an ordinary user, who also runs the commands. That user could no longer
change files created or rewritten by root. File systems without owners, and a root that may not
change ownership, are left as they are.
"""

from __future__ import annotations

import os
from contextlib import suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def give_file(descriptor: int, folder: int, name: str) -> None:
    """Give a new file to the owner of the `name` in `folder` that it replaces, or of the folder."""
    if os.geteuid() != 0:
        return
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        status = os.fstat(folder)
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)


def give_folder(folder: int, name: str) -> None:
    """Give the new folder `name` in `folder` to the owner of `folder`.

    The owner may have replaced it meanwhile: only an empty folder owned by root changes ownership.
    """
    if os.geteuid() != 0:
        return
    owner = os.fstat(folder)
    with suppress(OSError):
        made = os.open(name, _FOLDER, dir_fd=folder)
        try:
            with os.scandir(made) as entries:
                empty = next(entries, None) is None
            if empty and os.fstat(made).st_uid == 0:
                os.fchown(made, owner.st_uid, owner.st_gid)
        finally:
            os.close(made)
