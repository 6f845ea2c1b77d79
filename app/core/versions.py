"""Optimistic locking, wherever a row is changed."""

from __future__ import annotations

from app.core.errors import VersionMismatch


def check_version(expected: int | None, actual: int) -> None:
    """Compare inside the transaction that changes the row.

    Raises:
        VersionMismatch: it was changed since it was read.
    """
    if expected is not None and expected != actual:
        raise VersionMismatch(
            f"Changed by someone else (expected version {expected}, found {actual}); "
            "reload and retry",
            version=actual,
        )
