"""Database with the newest schema, copied: migration takes longer than most tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from app.db.schema import ensure_schema, make_data_dir


def new_database(path: Path) -> None:
    """Create an empty database, with its folder if missing."""
    make_data_dir(path.parent)
    path.touch(mode=0o600)
    path.write_bytes(_template())


@cache
def _template() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tollgate.db"
        ensure_schema(path)
        return path.read_bytes()
