"""Lock that keeps a second service from a data folder, whose runs it would take over."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import StorageUnavailable
from app.db.schema import make_data_dir

LOCK = "service.lock"


@contextmanager
def only_service_of(data_dir: Path) -> Iterator[None]:
    """Lock the data folder for this process; the system releases it when the process ends.

    Raises:
        StorageUnavailable: Another service holds the lock, or the folder is not writable.
    """
    make_data_dir(data_dir)
    try:
        lock = os.open(data_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageUnavailable(
            f"Data directory {str(data_dir)!r} is not writable ({error.strerror}): set "
            "TOLLGATE_DATA_DIR to a writable folder"
        ) from None
    try:
        # A lock of the process, not of the open file: child processes do not inherit it.
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise StorageUnavailable(
            f"Another service is running on {str(data_dir)!r}: stop it, or set "
            "TOLLGATE_DATA_DIR to another folder"
        ) from None
    try:
        yield
    finally:
        os.close(lock)
