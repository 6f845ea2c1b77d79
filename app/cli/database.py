"""`tollgate init` and `tollgate db …`."""

from __future__ import annotations

import typer

from app.config.settings import Settings
from app.db.schema import HEAD, ensure_schema


def make_installation(settings: Settings) -> None:
    """Create the data folder and its database, and print the next step.

    Raises:
        StorageUnavailable: The data folder is not writable.
        ConfigurationError: A newer version has written the database.
    """
    changed = ensure_schema(settings.database_path)
    where = settings.data_dir.absolute()
    typer.echo(f"{where}: {'created' if changed else 'already exists'}")
    typer.echo(
        "Run `tollgate serve` to start a service on it and create its first token.", err=True
    )


def upgrade_database(settings: Settings) -> None:
    """Migrate the database to the newest schema and report it.

    Raises:
        StorageUnavailable: The data folder is not writable.
    """
    changed = ensure_schema(settings.database_path)
    state = "upgraded to" if changed else "is already at"
    typer.echo(f"{settings.database_path.absolute()}: {state} revision {HEAD}")
