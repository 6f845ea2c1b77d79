"""`tollgate db …`."""

from __future__ import annotations

import typer

from app.core.settings import Settings
from app.db.schema import HEAD, ensure_schema


def upgrade_database(settings: Settings) -> None:
    """Bring the database to the newest schema and say so.

    Raises:
        StorageUnavailable: the data directory cannot be written.
    """
    changed = ensure_schema(settings.database_path)
    state = "upgraded to" if changed else "is already at"
    typer.echo(f"{settings.database_path}: {state} revision {HEAD}")
