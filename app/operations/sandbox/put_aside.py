"""Backup of undone file contents.

The folder belongs to the programs: files in it are created through descriptors only, so that no
link leads elsewhere. Blocks.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress

from app.operations.local.owners import give_file, give_folder
from app.operations.local.snapshots import FileSnapshot
from app.operations.local.steps import write_all

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put_aside(folder: str | None, files: Mapping[str, FileSnapshot]) -> str | None:
    """Save `files` in a new folder inside `folder`; return its path, or None if none is saved.

    Their names are their paths with `_` for each slash, so that no program uses them.
    """
    if folder is None or all(kept.data is None for kept in files.values()):
        return None
    name = f"put-back-{secrets.token_hex(4)}"
    with suppress(OSError):
        parent = os.open(folder, _FOLDER)
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            give_folder(parent, name)
            inside = os.open(name, _FOLDER, dir_fd=parent)
        finally:
            os.close(parent)
        try:
            for path, kept in files.items():
                if kept.data is not None:
                    _write(inside, "_" + path.replace("/", "_"), kept.data)
        finally:
            os.close(inside)
        return f"{folder}/{name}"
    return None


def _write(folder: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        give_file(descriptor, folder, name)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
