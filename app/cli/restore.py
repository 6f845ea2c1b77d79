"""`tollgate restore`: turns a backup into an installation.

The backup is unpacked and checked next to the existing data, and only then moved into place. The
existing data is kept in a separate folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import tarfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import typer

from app.cli.backup import ANCHORS, FOLDERS, FORMAT, KEYS, MANIFEST, require_stopped
from app.cli.bootstrap_token import FILE_NAME as FIRST_TOKEN
from app.cli.instance_lock import LOCK, only_service_of
from app.cli.unpack import Unpacking
from app.config.secret_values import redactor_of
from app.config.setting_files import CONFIG_FILE, ENV_FILE
from app.config.settings import Settings
from app.config.user_folders import DATABASE, holds_database
from app.core.clock import SystemClock
from app.core.errors import InvalidInput, StorageUnavailable
from app.core.escaping import visible
from app.db.engine import Database
from app.db.schema import current_revision, ensure_schema, make_data_dir, refuse_newer
from app.db.writer import SqliteWriter, Transaction
from app.governance.audit.anchor import FILE_NAME, AnchorFile
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.audit.verify import verify

RESTORED = "installation.restored"
# Parts of this machine: its settings, its database keys, and files of its commands.
_STAYS = frozenset({LOCK, KEYS, FIRST_TOKEN, ENV_FILE, CONFIG_FILE})
_PARTS = frozenset({DATABASE, KEYS, *ANCHORS, *FOLDERS})
_BROKEN = 1


def restore(archive: Path, settings: Settings, *, replace: bool) -> int:
    """Replace the data folder by a backup and return the exit code.

    Raises:
        InvalidInput: The file is not a Tollgate backup, or the folder holds an installation and
            `replace` is not set.
        ConfigurationError: A service uses the folder, or a newer version wrote the backup.
        StorageUnavailable: A file cannot be read or written.
    """
    data_dir = settings.data_dir
    require_stopped(data_dir)
    if holds_database(data_dir) and not replace:
        raise InvalidInput(
            f"{str(data_dir.absolute())!r} already holds an installation: use "
            "--replace to replace it, which keeps the existing data beside it"
        )
    make_data_dir(data_dir)
    with only_service_of(data_dir):
        fresh = data_dir / f".restoring-{os.getpid()}"
        try:
            manifest = _unpack(archive, fresh)
            # Anything that can fail happens next to the existing data.
            ensure_schema(fresh / DATABASE)
            (fresh / DATABASE).chmod(0o600)
            former = _audit_end(data_dir / DATABASE)
            kept = _put(fresh, data_dir)
        except OSError as error:
            raise StorageUnavailable(
                f"{visible(str(error.filename))}: {error.strerror}; nothing was changed"
            ) from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        cut = {"backup": manifest, "replaced": former, "kept_in": kept and str(kept)}
        found = asyncio.run(_noted(settings, cut))
    typer.echo(f"Restored {data_dir.absolute()} from {archive}, created at {manifest['made_at']}.")
    if kept is not None:
        typer.echo(f"The previous data is in {kept}.")
    return _tell_audit(found, manifest, former)


def _unpack(archive: Path, fresh: Path) -> dict[str, Any]:
    """Unpack a backup into a folder, check it, and return its manifest."""
    fresh.mkdir(mode=0o700)
    try:
        with tarfile.open(archive, mode="r:*") as tar:
            manifest = _manifest_of(tar, archive)
            unpacking = Unpacking(tar, fresh, _PARTS)
            for member in tar:
                if member.name != MANIFEST:
                    unpacking.take(member)
            unpacking.finish()
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = " ".join(str(error).split())
        raise InvalidInput(f"{str(archive)!r} is not a complete backup: {why}") from None
    for name, why in unpacking.left_out:
        typer.echo(f"skipped: {visible(name)} ({why})", err=True)
    _check_database(fresh / DATABASE, archive)
    return manifest


def _manifest_of(tar: tarfile.TarFile, archive: Path) -> dict[str, Any]:
    first = tar.next()
    file = tar.extractfile(first) if first is not None and first.name == MANIFEST else None
    try:
        said = json.loads(file.read(1 << 20)) if file else None
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise InvalidInput(
            f"{str(archive)!r} is not a backup that this version of Tollgate can read"
        )
    return said


def _check_database(database: Path, archive: Path) -> None:
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            (said,) = connection.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        raise InvalidInput(f"The database in {str(archive)!r} is damaged: {said}")
    refuse_newer(database, current_revision(database))


def _audit_end(database: Path) -> dict[str, Any] | None:
    """Return the chain head of the replaced installation, if it can be read."""
    if not database.exists():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as connection:
        row = connection.execute("SELECT seq, hash FROM audit_head WHERE id = 1").fetchone()
        return {"seq": row[0], "hash": row[1]} if row else None
    return None


def _put(fresh: Path, data_dir: Path) -> Path | None:
    """Move the existing data aside and the backup in; return the folder of the previous data.

        Either both moves succeed or neither.

    Both happen inside the folder, which may be a mount point that cannot be moved.

    Raises:
        OSError: A file cannot be moved; everything is back in its place.
    """
    has_keys = (fresh / KEYS).is_dir()
    stays = _STAYS - ({KEYS} if has_keys else set())
    present = [
        path
        for path in data_dir.iterdir()
        if path != fresh and path.name not in stays and not path.name.startswith("before-restore-")
    ]
    kept = None
    moves: list[tuple[Path, Path]] = []
    if present:
        moment = SystemClock().now().strftime("%Y%m%dT%H%M%SZ")
        kept = data_dir / f"before-restore-{moment}"
        kept.mkdir(mode=0o700)
        moves += [(path, kept / path.name) for path in present]
    moves += [(path, data_dir / path.name) for path in fresh.iterdir()]
    _move_all(moves, kept)
    for name in ANCHORS:
        with suppress(FileNotFoundError):
            (data_dir / name).chmod(0o600)
    return kept


def _move_all(moves: list[tuple[Path, Path]], made: Path | None) -> None:
    """Move all entries; if one cannot be moved, restore the others and remove what was created."""
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            source.rename(target)
            done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            target.rename(source)
        if made is not None:
            made.rmdir()
        raise


async def _noted(settings: Settings, cut: dict[str, Any]) -> dict[str, Any]:
    """Record the restore in the audit log, and verify the chain including that row."""
    db = SqliteWriter(settings.database_path)
    await db.start()
    try:
        clock = SystemClock()
        audit = AuditLog(db, clock, redactor_of(settings), level=settings.audit_detail)

        def note(transaction: Transaction) -> None:
            audit.within(transaction, AuditEntry(RESTORED, actor="cli", detail=cut))

        await db.transact(note)
    finally:
        await db.close()
    anchors = AnchorFile(settings.data_dir / FILE_NAME).read()
    database = Database(settings.database_path)
    try:
        return (await verify(database, anchors)).to_dict()
    finally:
        await database.close()


def _tell_audit(
    found: dict[str, Any], manifest: dict[str, Any], former: dict[str, Any] | None
) -> int:
    if found["broken"]:
        typer.echo(
            f"The audit log of the backup is BROKEN at row {found['broken']['seq']}: "
            f"{found['broken']['why']}"
        )
        return _BROKEN
    typer.echo(f"Audit log: {found['rows']} rows, chain verified.")
    last = (manifest.get("audit") or {}).get("seq", 0)
    if former is not None and former["seq"] > last:
        typer.echo(
            f"Rows {last + 1} to {former['seq']} of the previous audit log are not in "
            f"the backup; the new row {found['last_seq']} records this."
        )
    return 0
