"""Whose a new file is when the service is root: whoever owns the folder it is made in.

A workspace often belongs to an ordinary user, whom commands run as, too. What root made
there, and what root wrote anew, could not be changed by them any more. File systems without
owners, and a root that may not give files away, leave them as they are.
"""

from __future__ import annotations

import os
from contextlib import suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def give_file(descriptor: int, folder: int, name: str) -> None:
    """Give a new file to the owner of the `name` in `folder` that it replaces, or else to
    the folder's own."""
    if os.geteuid() != 0:
        return
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        status = os.fstat(folder)
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)


def give_folder(folder: int, name: str) -> None:
    """Give the folder `name`, which was just made in `folder`, to the owner of that one.

    The owner may have put another folder in its place meanwhile: only an empty one of root
    is given away.
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
