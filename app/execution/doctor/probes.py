"""Probes of the machine's features."""

from __future__ import annotations

import os
from pathlib import Path


def has_openat2() -> bool:
    """Return whether the kernel and its filters support resolving paths beneath a folder."""
    from app.operations.local.beneath import best_opener, open_in_kernel

    return best_opener() is open_in_kernel


def is_writable(folder: Path) -> bool:
    """Return whether a file can be created in `folder`, or in its nearest existing parent."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        return False
    try:
        handle = os.open(place, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError:
        return os.access(place, os.W_OK)
    os.close(handle)
    return True
