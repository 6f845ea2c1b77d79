"""`tollgate db …`."""

from __future__ import annotations

import typer

from app.core.settings import Settings
from app.db.schema import HEAD, ensure_schema


def make_installation(settings: Settings) -> None:
    """Make the data folder and its database, and say what comes next.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: a newer version has written the database.
    """
    changed = ensure_schema(settings.database_path)
    where = settings.data_dir.absolute()
    typer.echo(f"{where}: {'made' if changed else 'is there already'}")
    typer.echo("`tollgate serve` starts a service on it and makes its first token.", err=True)


def upgrade_database(settings: Settings) -> None:
    """Bring the database to the newest schema and say so.

    Raises:
        StorageUnavailable: the data directory cannot be written.
    """
    changed = ensure_schema(settings.database_path)
    state = "upgraded to" if changed else "is already at"
    typer.echo(f"{settings.database_path.absolute()}: {state} revision {HEAD}")
