"""Checks of doctor on the machine: Python, packages, storage, address and programs."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from app.config.settings import Settings
from app.core.errors import StorageUnavailable
from app.db.schema import HEAD, current_revision, is_newer
from app.execution.doctor.check import Check, State

NEEDED_PYTHON = (3, 11)
NEEDED_SQLITE = (3, 37)
LITTLE_SPACE = 256 << 20
MANY_FILES = 4096
_PROGRAMS = ("bash", "rg", "git", "node")

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*(?:>=\s*(?P<least>[0-9.]+))?[^;]*(?:;(?P<marker>.*))?"
)
_PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def runtime_and_storage(settings: Settings) -> Iterator[Check]:
    """Check Python and its packages, the data directory and the database."""
    yield from _runtime()
    yield from _packages()
    yield from _storage(settings)
    yield _open_files()


def _open_files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(soft, hard) if resource.RLIM_INFINITY not in (soft, hard) else MANY_FILES
    state: State = "ok" if limit >= MANY_FILES else "warning"
    return Check("open_files", state, "open_files.limit", limit=limit)


def _runtime() -> Iterator[Check]:
    python = sys.version_info
    yield Check(
        "python",
        "ok" if python >= NEEDED_PYTHON else "broken",
        "version",
        version=f"{python.major}.{python.minor}.{python.micro}",
    )
    yield Check(
        "sqlite",
        "ok" if sqlite3.sqlite_version_info >= NEEDED_SQLITE else "broken",
        "version",
        version=sqlite3.sqlite_version,
    )


@dataclass(frozen=True, slots=True)
class Dependency:
    """Distribution; `found` is None if it is missing."""

    name: str
    least: str
    found: str | None

    @property
    def is_met(self) -> bool:
        return self.found is not None and _numbers(self.found) >= _numbers(self.least)


def dependencies() -> list[Dependency]:
    """Return every distribution that the service needs at run time."""
    return list(_read(_declared()))


def _declared() -> list[str]:
    """Return the requirements of the installed distribution, or of the project file."""
    try:
        return list(requires("tollgate") or ())
    except PackageNotFoundError:
        pass
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return []
    return list(project.get("dependencies", ()))


def _read(lines: list[str]) -> Iterator[Dependency]:
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None or not _applies(match["marker"] or ""):
            continue
        try:
            installed: str | None = version(match["name"])
        except PackageNotFoundError:
            installed = None
        yield Dependency(match["name"], match["least"] or "0", installed)


def _applies(marker: str) -> bool:
    """Return whether a requirement applies: no extra, and for this system."""
    if "extra" in marker:
        return False
    return not ("sys_platform" in marker and "!=" in marker and sys.platform in marker)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:4])


def _packages() -> Iterator[Check]:
    for item in dependencies():
        yield Check(
            "package",
            "ok" if item.is_met else "broken",
            "version" if item.found else "missing",
            package=item.name,
            version=item.found,
            least=item.least,
        )


def _storage(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir
    writable = is_writable(folder)
    yield Check("data_dir", "ok" if writable else "broken", "path", path=folder.absolute())
    if writable:
        free = shutil.disk_usage(_existing(folder)).free
        state: State = "ok" if free >= LITTLE_SPACE else "warning"
        yield Check("disk", state, "free_space", mib=free >> 20)
    yield _revision(settings)


def _revision(settings: Settings) -> Check:
    try:
        revision = current_revision(settings.database_path)
    except StorageUnavailable as error:
        return Check("database.broken", "broken", "error", error=error.message)
    if revision is None:
        return Check("database.none", "info", "database.none")
    if revision == HEAD:
        return Check("database", "ok", "database.current", revision=revision)
    if is_newer(revision):
        return Check("database.newer", "broken", "database.newer", revision=revision, needed=HEAD)
    return Check("database.old", "warning", "database.old", revision=revision, needed=HEAD)


def model_check(settings: Settings) -> Check:
    """Check whether a model is usable."""
    state: State = "ok" if settings.has_model else "warning"
    found = "set" if settings.has_model else "not_set"
    return Check("model_key", state, found, setting=settings.model_key_setting)


def address_checks(settings: Settings) -> Iterator[Check]:
    """Check whether the service can listen, or if it is running, whether it accepts new work."""
    found = _address_check(settings)
    yield found
    if found.found_code == "address.ours":
        yield _work_check(settings)


def _work_check(settings: Settings) -> Check:
    reported = _asked(settings, "ready")
    if reported is None or reported.get("status") == "ready":
        return Check("condition", "ok", "condition.none")
    return Check(
        "condition.reported", "broken", "condition.reported", error=reported.get("detail", "")
    )


def _address_check(settings: Settings) -> Check:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            reason = error.strerror
        else:
            return Check("address", "ok", "address.free", address=where)
    if settings.port and _is_ours(settings):
        return Check("address", "ok", "address.ours", address=where)
    return Check("address", "warning", "address.taken", address=where, error=reason)


def _is_ours(settings: Settings) -> bool:
    return "sandbox" in (_asked(settings, "health") or {})


def _asked(settings: Settings, what: str) -> dict[str, Any] | None:
    """Return the response of the service at the address; None if it is not Tollgate."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        try:
            answer = opener.open(f"{settings.client_url}/api/v1/{what}", timeout=2)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            reported = json.loads(answer.read(1 << 16))
    except (OSError, ValueError):
        return None
    return reported if isinstance(reported, dict) else None


def kernel_and_programs() -> Iterator[Check]:
    """Check the kernel features that file tools need, and the installed programs."""
    openat2 = has_openat2()
    found = "available_used" if openat2 else "not_available"
    yield Check("openat2", "ok" if openat2 else "info", found)
    for name in _PROGRAMS:
        where = shutil.which(name)
        missing: State = "warning" if name == "bash" else "info"
        yield Check(
            f"program.{name}",
            "ok" if where else missing,
            "path" if where else "not_found",
            path=where,
        )


def _existing(folder: Path) -> Path:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return place


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
