"""Optimistic locking of rows."""

from __future__ import annotations

from app.core.errors import VersionMismatch


def check_version(expected: int | None, actual: int) -> None:
    """Compare versions; call it in the transaction that changes the row.

    Raises:
        VersionMismatch: the row has changed since it was read.
    """
    if expected is not None and expected != actual:
        raise VersionMismatch(
            f"Changed by someone else (expected version {expected}, found {actual}); "
            "reload and retry",
            version=actual,
        )
