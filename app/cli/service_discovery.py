"""Registry of this user's services that run on this machine, with their addresses.

A service records itself in the user's state folder while it runs. A record is trusted only while
its process holds the lock of the data folder, so no token is sent to another program at the address
of a service that has ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.cli.instance_lock import LOCK
from app.config.user_folders import state_home
from app.core.errors import ConfigurationError

MAX_NOTE = 8192
# `struct flock`: its layout differs by system.
_FLOCK, _TYPE, _PID = ("qqihh", 3, 2) if sys.platform == "darwin" else ("hhqqi4x", 0, 4)


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that runs on this machine."""

    url: str
    data_dir: Path


@contextmanager
def noted(url: str, data_dir: Path) -> Iterator[None]:
    """Record a service for this user's commands while it runs.

    If the record cannot be written, the service still runs, and commands need its address.
    """
    place = data_dir.resolve()
    note: Path | None = None
    with suppress(OSError, ConfigurationError):
        note = _notes() / f"{hashlib.sha256(bytes(place)).hexdigest()[:16]}.json"
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        said = {"url": url, "data_dir": str(place), "pid": os.getpid()}
        fresh = note.with_name(f".{note.name}.{os.getpid()}")
        fresh.write_text(json.dumps(said), encoding="utf-8")
        fresh.replace(note)
    try:
        yield
    finally:
        if note is not None:
            with suppress(OSError):
                note.unlink()


def running_services() -> list[RunningService]:
    """Return the services of this user that run on this machine, by address."""
    try:
        notes = sorted(_notes().glob("*.json"))
    except (OSError, ConfigurationError):
        return []
    found = [service for note in notes if (service := _service_of(note)) is not None]
    return sorted(found, key=lambda service: service.url)


def running_on(data_dir: Path) -> RunningService | None:
    """Return the service of this user that uses a data folder."""
    place = data_dir.resolve()
    return next((one for one in running_services() if one.data_dir == place), None)


def holder_of(data_dir: Path) -> int | None:
    """Return the process ID of the service that uses a data folder, or None.

    The lock is only queried: taking it, even briefly, could keep a service from starting.
    """
    asked: list[int] = [0] * 5
    asked[_TYPE] = fcntl.F_WRLCK
    try:
        with (data_dir / LOCK).open("rb") as lock:
            reported = fcntl.fcntl(lock, fcntl.F_GETLK, struct.pack(_FLOCK, *asked))
    except OSError:
        return None
    answer = struct.unpack(_FLOCK, reported)
    return None if answer[_TYPE] == fcntl.F_UNLCK else int(answer[_PID])


def _service_of(note: Path) -> RunningService | None:
    try:
        with note.open(encoding="utf-8") as file:
            reported = json.loads(file.read(MAX_NOTE))
        service = RunningService(str(reported["url"]), Path(str(reported["data_dir"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    holder = holder_of(service.data_dir)
    if holder is not None and holder == reported.get("pid"):
        return service
    if not service.data_dir.exists():
        # Another note is left: its service may start again at this moment, and write it again.
        with suppress(OSError):
            note.unlink()
    return None


def _notes() -> Path:
    return state_home() / "services"
