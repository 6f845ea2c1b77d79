"""What doctor says about the machine: Python, packages, storage, the address, programs."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import StorageUnavailable
from app.core.settings import Settings
from app.db.schema import HEAD, current_revision
from app.execution.doctor import probes
from app.execution.doctor.check import Check, State
from app.execution.doctor.requirements import dependencies

NEEDED_PYTHON = (3, 11)
NEEDED_SQLITE = (3, 37)
LITTLE_SPACE = 256 << 20
_PROGRAMS = {
    "bash": ("the bash tool runs commands with it", "install bash"),
    "rg": ("only compared with in benchmarks; grep works without it", "install ripgrep"),
    "git": ("commands of agents often need it", "install git"),
    "node": ("only for checking the protocol documents", "install Node.js 22 or newer"),
}


def runtime_and_storage(settings: Settings) -> Iterator[Check]:
    """Python and its packages, the data directory and the database."""
    yield from _runtime()
    yield from _packages()
    yield from _storage(settings)


def _runtime() -> Iterator[Check]:
    python = sys.version_info
    yield Check(
        "python",
        "ok" if python >= NEEDED_PYTHON else "broken",
        f"{python.major}.{python.minor}.{python.micro}",
        "runs the service",
        "install Python 3.11 or newer",
    )
    yield Check(
        "sqlite",
        "ok" if sqlite3.sqlite_version_info >= NEEDED_SQLITE else "broken",
        sqlite3.sqlite_version,
        "keeps sessions, events and governance",
        "use a Python that is built with SQLite 3.37 or newer",
    )


def _packages() -> Iterator[Check]:
    for item in dependencies():
        yield Check(
            f"package {item.name}",
            "ok" if item.is_met else "broken",
            item.found or "missing",
            f"needed: {item.least} or newer",
            "run `make setup` again",
        )


def _storage(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir
    writable = probes.is_writable(folder)
    yield Check(
        "data directory",
        "ok" if writable else "broken",
        str(folder.absolute()),
        "database, artifacts and the default workspace lie there",
        "" if writable else "make it writable, or set TOLLGATE_DATA_DIR",
    )
    if writable:
        free = shutil.disk_usage(_existing(folder)).free
        yield Check(
            "disk space",
            "ok" if free >= LITTLE_SPACE else "warning",
            f"{free >> 20} MiB free",
            "without space nothing can be recorded, and tools with side effects are refused",
            "" if free >= LITTLE_SPACE else "free some space",
        )
    yield _revision(settings)


def _revision(settings: Settings) -> Check:
    meaning = "the schema that the database has"
    try:
        revision = current_revision(settings.database_path)
    except StorageUnavailable as error:
        return Check("database", "broken", error.message, meaning, "restore it from a backup")
    if revision is None:
        return Check("database", "info", "none yet", meaning, "`serve` and `call` make it")
    if revision == HEAD:
        return Check("database", "ok", f"revision {revision}", meaning)
    return Check(
        "database",
        "warning",
        f"revision {revision}, this version needs {HEAD}",
        meaning,
        "`tollgate db upgrade`; `serve` does it too",
    )


def model_check(settings: Settings) -> Check:
    """Whether a model can be asked."""
    has_key = settings.has_model
    return Check(
        "model key",
        "ok" if has_key else "warning",
        "set" if has_key else "not set",
        "chat with a model needs it; tools work without",
        "" if has_key else f"set {settings.model_key_setting}",
    )


def address_check(settings: Settings) -> Check:
    """Whether a service could listen, or does."""
    where, meaning = f"{settings.host}:{settings.port}", "where the service listens"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            reason = error.strerror
        else:
            return Check("address", "ok", f"{where} is free", meaning)
    if settings.port and _is_ours(settings):
        return Check("address", "ok", f"a Tollgate service answers on {where}", meaning)
    fix = "stop what listens there, or choose another with TOLLGATE_HOST and TOLLGATE_PORT"
    return Check("address", "warning", f"{where}: {reason}", meaning, fix)


def _is_ours(settings: Settings) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{settings.client_url}/api/v1/health", timeout=2) as answer:
            health = json.loads(answer.read(1 << 16))
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return isinstance(health, dict) and "sandbox" in health


def kernel_and_programs() -> Iterator[Check]:
    """What the kernel offers file tools, and which programs there are."""
    openat2 = probes.has_openat2()
    yield Check(
        "openat2",
        "ok" if openat2 else "info",
        "available, used" if openat2 else "not available",
        "keeps file tools inside the workspace; without it every path is walked step by step",
        "" if openat2 else "Linux 5.6 or newer, not blocked by a container's filter",
    )
    for name, (meaning, fix) in _PROGRAMS.items():
        where = shutil.which(name)
        missing: State = "warning" if name == "bash" else "info"
        state: State = "ok" if where else missing
        yield Check(f"program {name}", state, where or "not found", meaning, "" if where else fix)


def _existing(folder: Path) -> Path:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return place
