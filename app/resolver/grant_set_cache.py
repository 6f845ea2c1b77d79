"""Stored grants as the set that policy reads, built once per change."""

from __future__ import annotations

from app.governance.grants import PERMANENT_SCOPES, GrantStore, StoredGrant
from app.policy.grants import Grant, GrantSet


class GrantSetCache:
    """The current set; two attribute reads when nothing has changed.

    Args:
        permanent: grants that outlive a session count.
    """

    def __init__(self, store: GrantStore, *, permanent: bool = True) -> None:
        self._store = store
        self._permanent = permanent
        self._built_from: tuple[StoredGrant, ...] | None = None
        self._set = GrantSet(())

    def current(self) -> GrantSet:
        stored = self._store.snapshot
        if self._built_from is not stored:
            counted = (g for g in stored if self._permanent or g.scope not in PERMANENT_SCOPES)
            self._set = GrantSet(tuple(map(_grant, counted)))
            self._built_from = stored
        return self._set


def _grant(stored: StoredGrant) -> Grant:
    return Grant(
        id=stored.id,
        tool_name=stored.tool_name,
        scope=stored.scope,
        scope_id=stored.scope_id,
        pattern=stored.pattern,
        expires_at=stored.expires_at,
    )
