"""`tollgate backup`: writes an installation into one file while its service runs.

The audit chain heads are copied before the database, and everything else after it. So every
recorded head and every artifact in the database is part of the copy.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import typer

from app import __version__
from app.cli.service_discovery import holder_of
from app.cli.target import Place, RemoteService
from app.config.setting_files import files_in
from app.config.user_folders import DATABASE
from app.core.clock import SystemClock, isoformat
from app.core.errors import ConfigurationError, InvalidInput, StorageUnavailable
from app.core.escaping import visible
from app.db.schema import current_revision
from app.governance.audit.anchor import FILE_NAME as ANCHOR

MANIFEST = "manifest.json"
FORMAT = 1
ANCHORS = (f"{ANCHOR}.1", ANCHOR)
FOLDERS = (*("artifacts", "checkpoints", "operations", "workspace", "plugins", "hooks", "skills"),)
KEYS = "keys"
_CHUNK = 1 << 20


@dataclass(slots=True)
class _Written:
    """Contents of a backup file, for the summary."""

    files: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def back_up(place: Place, target: Path, *, with_keys: bool) -> int:
    """Back up the installation to a new file readable only by its owner.

    Raises:
        InvalidInput: The file exists, or the installation is not on this machine.
        StorageUnavailable: The file cannot be written, or the database cannot be read.
    """
    data_dir = _folder_of(place)
    if target.resolve().is_relative_to(data_dir.resolve()):
        raise InvalidInput(
            f"{str(target)!r} is inside the data folder, which is backed up and which "
            "agents may read: choose a file outside it"
        )
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    if target.exists():
        raise InvalidInput(f"{str(target)!r} already exists: choose a new file")
    written = _Written()
    try:
        # Never readable by others, not even briefly.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            _write(tar, data_dir, written, with_keys=with_keys)
        with fresh.open("rb") as whole:
            os.fsync(whole.fileno())
        _name(fresh, target)
    except FileExistsError:
        raise InvalidInput(f"{str(target)!r} already exists: choose a new file") from None
    except OSError as error:
        raise StorageUnavailable(
            f"Cannot use {str(error.filename or target)!r}: {error.strerror or error}"
        ) from None
    finally:
        with suppress(OSError):
            fresh.unlink()
    _tell(data_dir, target, written, with_keys=with_keys)
    return 0


def _name(fresh: Path, target: Path) -> None:
    """Rename a complete backup to its final name without replacing another file.

    Raises:
        FileExistsError: A file with that name exists.
    """
    try:
        os.link(fresh, target)
    except FileExistsError:
        raise
    except OSError:
        # Removable disks and network shares may not support hard links.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        fresh.replace(target)


def _folder_of(place: Place) -> Path:
    if isinstance(place, RemoteService):
        if place.data_dir is None:
            raise InvalidInput(
                f"The data of {place.url} is not on this machine: run `tollgate "
                "backup` where the service runs"
            )
        return place.data_dir
    return place.settings.data_dir.absolute()


def _write(tar: tarfile.TarFile, data_dir: Path, written: _Written, *, with_keys: bool) -> None:
    anchors = {name: _bytes_of(data_dir / name) for name in ANCHORS}
    with tempfile.TemporaryDirectory(dir=data_dir, prefix=".backup-") as folder:
        copy = Path(folder) / DATABASE
        _copy_database(data_dir / DATABASE, copy)
        _add_bytes(tar, MANIFEST, json.dumps(_manifest(data_dir, copy), indent=2).encode())
        for name, data in anchors.items():
            if data is not None:
                _add_bytes(tar, name, data)
        _add_file(tar, copy, DATABASE, written)
    for name in (*FOLDERS, *((KEYS,) if with_keys else ())):
        for path in _files_of(data_dir / name):
            _add_path(tar, path, str(path.relative_to(data_dir)), written)


def _manifest(data_dir: Path, copy: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as connection:
        head = connection.execute("SELECT seq, hash FROM audit_head WHERE id = 1").fetchone()
    return {
        "format": FORMAT,
        "version": __version__,
        "revision": current_revision(copy),
        "made_at": isoformat(SystemClock().now()),
        "data_dir": str(data_dir),
        "audit": {"seq": head[0], "hash": head[1]} if head else None,
    }


def _copy_database(source: Path, copy: Path) -> None:
    """Copy the database as committed at one moment; the service keeps writing."""
    copy.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=30)) as here,
            closing(sqlite3.connect(copy)) as there,
        ):
            here.backup(there)
    except sqlite3.Error as error:
        raise StorageUnavailable(f"Cannot copy the database {str(source)!r}: {error}") from None


def _files_of(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder, parents first, without following links."""
    if folder.is_symlink() or not folder.is_dir():
        return
    yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files_of(path)
        else:
            yield path


def _add_path(tar: tarfile.TarFile, path: Path, name: str, written: _Written) -> None:
    try:
        info = tar.gettarinfo(path, name)
    except OSError:
        written.left_out.append(name)  # Deleted meanwhile, or unreadable.
        return
    if info is None or not (info.isreg() or info.isdir() or info.issym()):
        written.left_out.append(name)  # A socket or a pipe has no content.
    elif info.isreg():
        _add_file(tar, path, name, written)
    else:
        tar.addfile(_plain(info))


def _add_file(tar: tarfile.TarFile, path: Path, name: str, written: _Written) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        written.left_out.append(name)
        return
    with os.fdopen(descriptor, "rb") as file:
        # Two names of one file become two files in the copy: each can be restored separately.
        info = tarfile.TarInfo(name)
        found = os.fstat(file.fileno())
        info.size, info.mtime, info.mode = found.st_size, found.st_mtime, found.st_mode & 0o700
        whole = _Whole(file, found.st_size)
        tar.addfile(info, whole)
    written.files += 1
    if whole.missing:
        written.changed.append(name)


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), 0o600, SystemClock().time()
    tar.addfile(info, io.BytesIO(data))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner, which means nothing on another machine."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


class _Whole:
    """Reader that returns exactly the original size and pads a truncated file with zeros."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size
        self.missing = 0

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self.missing += wanted - len(data)
        self._left -= wanted
        return data.ljust(wanted, b"\0")


def _tell(data_dir: Path, target: Path, written: _Written, *, with_keys: bool) -> None:
    typer.echo(str(target.absolute()))
    typer.echo(f"Backed up {data_dir} ({written.files} files).", err=True)
    for name in written.changed:
        typer.echo(f"changed while it was copied: {visible(name)}", err=True)
    for name in written.left_out:
        typer.echo(f"skipped: {visible(name)}", err=True)
    if settings := files_in(data_dir):
        named = ", ".join(path.name for path in settings)
        typer.echo(f"Not included, because they belong to this machine: {named}.", err=True)
    if not with_keys and (data_dir / KEYS).is_dir():
        typer.echo(
            f"The keys in {data_dir / KEYS} are not included: store a copy of them "
            "elsewhere, or use --with-keys. They decrypt the passwords of data "
            "sources.",
            err=True,
        )


def require_stopped(data_dir: Path) -> None:
    """Check that no service uses a folder.

    Raises:
        ConfigurationError: A service uses the folder.
    """
    if (pid := holder_of(data_dir)) is not None:
        raise ConfigurationError(
            f"A service (process {pid}) is using {str(data_dir)!r}: stop it first"
        )
