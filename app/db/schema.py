"""Migration of a database to the schema of this version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from app.core.errors import ConfigurationError, StorageUnavailable

if TYPE_CHECKING:
    from alembic.config import Config

# Newest migration; a test compares it with the folder. The constant spares command-line calls the
# import of Alembic.
HEAD = "0032"

# What the migrations make of an empty database; written by scripts/write_schema.py.
NEW_DATABASE = Path(__file__).with_name("schema.sql")

_PACKAGE = Path(__file__).resolve().parent.parent


def current_revision(path: Path) -> str | None:
    """Return the revision of a SQLite file; None if it has none.

    Raises:
        StorageUnavailable: the file is not a readable database.
    """
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise StorageUnavailable(f"Cannot read the database {path.name}: {error}") from None
    except sqlite3.DatabaseError as error:
        raise StorageUnavailable(f"{path.name} is not a database: {error}") from None
    return str(row[0]) if row else None


def ensure_schema(path: Path) -> bool:
    """Create or migrate the database; return whether anything changed.

    Raises:
        StorageUnavailable: the data directory is not writable.
        ConfigurationError: a newer version wrote the database.
    """
    revision = current_revision(path)
    if revision == HEAD:
        return False
    refuse_newer(path, revision)
    make_data_dir(path.parent)
    if revision is not None or not create(path):
        upgrade(path)
    # The folder may have existed before, with open permissions.
    path.chmod(0o600)
    return True


def require_current(path: Path) -> None:
    """Check that an existing database is usable without migration.

    Raises:
        ConfigurationError: it has another version, or its creation is incomplete.
        StorageUnavailable: the file is not a readable database.
    """
    revision = current_revision(path)
    if revision == HEAD:
        return
    refuse_newer(path, revision)
    before = (
        "is not completely migrated"
        if revision is None
        else "has the schema of an earlier version of Tollgate"
    )
    raise ConfigurationError(
        f"The database in {str(path.parent)!r} {before}: run `tollgate db upgrade`, or "
        "start the service, to migrate it to this version"
    )


def is_newer(revision: str) -> bool:
    """Return whether a later version of Tollgate, or another program, set this revision."""
    return not revision.isdecimal() or revision > HEAD


def refuse_newer(path: Path, revision: str | None) -> None:
    """Refuse a database written by a later version.

    Raises:
        ConfigurationError: a later version wrote it.
    """
    if revision is not None and is_newer(revision):
        raise ConfigurationError(
            f"The database in {str(path.parent)!r} was created by a newer version of "
            f"Tollgate (its schema is {revision}, this version supports up to {HEAD}): "
            "start the newer version, or restore a backup from before the upgrade; "
            "nothing was changed"
        )


def make_data_dir(folder: Path) -> None:
    """Create the data directory if missing.

    Raises:
        StorageUnavailable: it cannot be created.
    """
    try:
        # Contains conversations and the audit: not readable by other users of the machine.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(
            f"Cannot create the data directory {str(folder)!r} ({error.strerror}): set "
            "TOLLGATE_DATA_DIR to a writable folder"
        ) from None


def create(path: Path) -> bool:
    """Create the newest schema in an empty database; return whether it was empty.

    Running every migration gives the same database, and takes most of a second.

    Raises:
        StorageUnavailable: the disk is full or cannot be written.
        ConfigurationError: the schema is not found in the installation.
    """
    try:
        script = NEW_DATABASE.read_text(encoding="utf-8")
    except OSError:
        raise _incomplete("schema") from None
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            # Two programs that start together create it one after the other.
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                return False
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise StorageUnavailable(
            f"Cannot create the database {path.name} in {str(path.parent)!r} ({error})"
        ) from None
    return True


def _statements(script: str) -> Iterator[str]:
    """Yield each statement; `executescript` would commit before it runs them."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def upgrade(path: Path, revision: str = "head") -> None:
    """Run the migrations up to `revision`: all of them, or none.

    Raises:
        StorageUnavailable: the disk is full or not writable, or the file is another database.
    """
    from sqlalchemy.exc import DatabaseError

    from alembic import command

    try:
        command.upgrade(alembic_config(path), revision)
    except DatabaseError as error:
        raise StorageUnavailable(
            f"Cannot migrate {path.name} in {str(path.parent)!r} to the schema of this "
            f"version ({error.orig}); nothing was changed"
        ) from None


def downgrade(path: Path, revision: str) -> None:
    """Run the migrations down to `revision`."""
    from alembic import command

    command.downgrade(alembic_config(path), revision)


def alembic_config(path: Path) -> Config:
    """Return Alembic's configuration for one SQLite file.

    Raises:
        ConfigurationError: the migrations are not found in the installation.
    """
    from alembic.config import Config

    for folder in (_PACKAGE.parent / "alembic", _PACKAGE / "db" / "migrations"):
        if (folder / "env.py").exists():
            config = Config()
            config.set_main_option("script_location", str(folder))
            config.attributes["sqlite_path"] = str(path)
            return config
    raise _incomplete("migrations")


def _incomplete(part: str) -> ConfigurationError:
    return ConfigurationError(
        f"The {part} of the database cannot be read from this installation: reinstall it"
    )
