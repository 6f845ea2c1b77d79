"""Grants: standing approvals, each with a scope, an expiry, an origin and a usage count.

Active rows are cached as one immutable tuple, which is replaced when a grant is created or revoked:
the hot path needs no query. The policy interprets patterns; here they are JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound
from app.core.ids import new_id
from app.db.statements import GRANT_HIT
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment

GrantScope = Literal["run", "session", "agent", "always"]
# Scopes that outlive the session of the approval.
PERMANENT_SCOPES: frozenset[GrantScope] = frozenset({"agent", "always"})
GRANTS = "grants"

_COLUMNS = (
    "id, tool_name, scope, scope_id, pattern, confirmation_id, created_by, created_at,"
    " expires_at, hits, last_used_at, revoked_at, revoked_by, max_uses"
)
# A grant for a run ends with the run, even if the service was not running then.
_ACTIVE = (
    f"SELECT {_COLUMNS} FROM grants WHERE revoked_at IS NULL"  # noqa: S608 - constants of this file
    " AND (expires_at IS NULL OR expires_at > ?) AND (max_uses IS NULL OR hits < max_uses)"
    " AND (scope <> 'run' OR scope_id IN (SELECT id FROM runs WHERE status = 'running'))"
    " ORDER BY created_at, id"
)
_ONE = f"SELECT {_COLUMNS} FROM grants WHERE id = ?"  # noqa: S608 - as above
_ADD = (
    "INSERT INTO grants (id, tool_name, scope, scope_id, pattern, confirmation_id, created_by,"
    " created_at, expires_at, max_uses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REVOKE = "UPDATE grants SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL"
_NO_PATTERN: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """Row of a grant. `expires_at` is a Unix time; `scope_id` is the ID of the run, session or
    agent; `max_uses` the number of calls that it covers at most.
    """

    id: str
    tool_name: str
    scope: GrantScope
    scope_id: str | None
    pattern: Mapping[str, Any]
    confirmation_id: str | None
    created_by: str
    created_at: str
    expires_at: float | None
    hits: int = 0
    last_used_at: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    max_uses: int | None = None

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {
            "tool_name": self.tool_name,
            "scope": self.scope,
            "scope_id": self.scope_id,
            "pattern": dict(self.pattern),
            "confirmation_id": self.confirmation_id,
            "expires_at": self.expires_at,
            "max_uses": self.max_uses,
        }


class GrantStore:
    """Creates, revokes and counts grants.

    Attributes:
        snapshot: active grants; readers must check `expires_at` against the clock.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions | None = None,
    ) -> None:
        if changes is not None:
            changes.watch(GRANTS, self.load)
        self._db = db
        self._clock = clock
        self._audit = audit
        self.snapshot: tuple[StoredGrant, ...] = ()
        # Uses of the grants that end after a number of them.
        self._uses: dict[str, int] = {}

    async def load(self) -> None:
        """Load the active grants."""
        now = self._clock.time()

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_ACTIVE, (now,))

        self.snapshot = tuple(map(grant_of, await self._db.transact(read)))
        limited = [grant for grant in self.snapshot if grant.max_uses is not None]
        self._uses = {grant.id: max(grant.hits, self._uses.get(grant.id, 0)) for grant in limited}

    def draft(
        self,
        *,
        tool_name: str,
        scope: GrantScope,
        scope_id: str | None,
        pattern: Mapping[str, Any],
        confirmation_id: str | None,
        created_by: str,
        expires_at: float | None,
        max_uses: int | None = None,
    ) -> StoredGrant:
        """Return a grant that is not active yet."""
        return StoredGrant(
            new_id("grt"),
            tool_name,
            scope,
            scope_id,
            pattern,
            confirmation_id,
            created_by,
            isoformat(self._clock.now()),
            expires_at,
            max_uses=max_uses,
        )

    def add_within(self, transaction: Transaction, grant: StoredGrant) -> None:
        """Write a drafted grant and its audit line; call `adopt` once this is committed."""
        row = (
            grant.id,
            grant.tool_name,
            grant.scope,
            grant.scope_id,
            orjson.dumps(dict(grant.pattern)).decode(),
            grant.confirmation_id,
            grant.created_by,
            grant.created_at,
            grant.expires_at,
            grant.max_uses,
        )
        transaction.execute(_ADD, row)
        increment(transaction, GRANTS)
        self._audit.within(
            transaction,
            AuditEntry(
                "governance.grant",
                actor=grant.created_by,
                subject=grant.id,
                after=grant.shown(),
                tool_name=grant.tool_name,
                outcome="created",
            ),
        )

    def adopt(self, grant: StoredGrant) -> None:
        """Activate a committed grant from the next call."""
        now = self._clock.time()
        kept = [g for g in self.snapshot if g.expires_at is None or g.expires_at > now]
        self.snapshot = (*kept, grant)
        if grant.max_uses is not None:
            self._uses.setdefault(grant.id, 0)

    async def revoke(self, grant_id: str, *, by: str) -> StoredGrant:
        """Revoke a grant from the next call. Revoking twice changes nothing.

        Raises:
            NotFound: the grant does not exist.
        """
        moment = isoformat(self._clock.now())

        def end(transaction: Transaction) -> StoredGrant:
            found = transaction.fetch(_ONE, (grant_id,))
            if not found:
                raise NotFound(f"Grant {grant_id!r} not found", grant_id=grant_id)
            before = grant_of(found[0])
            if not transaction.execute(_REVOKE, (moment, by, grant_id)):
                return before
            increment(transaction, GRANTS)
            after = replace(before, revoked_at=moment, revoked_by=by)
            self._audit.within(
                transaction,
                AuditEntry(
                    "governance.grant",
                    actor=by,
                    subject=grant_id,
                    before=before.shown(),
                    after={**after.shown(), "revoked_at": moment},
                    tool_name=before.tool_name,
                    outcome="revoked",
                ),
            )
            return after

        revoked = await self._db.transact(end)
        self._drop(grant_id)
        return revoked

    def end_run(self, run_id: str) -> None:
        """Drop the grants of an ended run."""
        ended = {g.id for g in self.snapshot if g.scope == "run" and g.scope_id == run_id}
        if ended:
            self._drop(*ended)

    def use(self, grant_id: str) -> bool:
        """Count a use, written with the next commit; False if all uses are taken."""
        used = self._uses.get(grant_id)
        if used is not None:
            grant = next((item for item in self.snapshot if item.id == grant_id), None)
            if grant is None or grant.max_uses is None or used >= grant.max_uses:
                return False
            self._uses[grant_id] = used + 1
            if used + 1 >= grant.max_uses:
                self._drop(grant_id)
        self._db.append(GRANT_HIT, (isoformat(self._clock.now()), grant_id))
        return True

    def _drop(self, *ids: str) -> None:
        self.snapshot = tuple(grant for grant in self.snapshot if grant.id not in ids)


def grant_of(row: Iterable[Any]) -> StoredGrant:
    """Return a row as a value; an invalid pattern covers nothing."""
    values = list(row)
    try:
        pattern = orjson.loads(values[4])
    except orjson.JSONDecodeError:
        pattern = _NO_PATTERN
    values[4] = MappingProxyType(pattern) if isinstance(pattern, dict) else _NO_PATTERN
    return StoredGrant(*values)
