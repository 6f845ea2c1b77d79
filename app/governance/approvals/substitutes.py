"""Substitutes: users who answer confirmations for others, for a limited time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.approvals.approver import user_key
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment

SUBSTITUTIONS = "approval_substitutions"
MAX_DAYS = 366
MAX_ACTIVE = 20
_COLUMNS = (
    "id, user_id, substitute_id, note, starts_at, ends_at, created_by, created_at, revoked_at,"
    " revoked_by"
)
_CURRENT = (
    f"SELECT {_COLUMNS} FROM approval_substitutions"  # noqa: S608 - constants of this file
    " WHERE revoked_at IS NULL AND ends_at > ? ORDER BY starts_at, id"
)
_ONE = f"SELECT {_COLUMNS} FROM approval_substitutions WHERE id = ?"  # noqa: S608 - as above
_ADD = (
    f"INSERT INTO approval_substitutions ({_COLUMNS})"  # noqa: S608 - as above
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REVOKE = (
    "UPDATE approval_substitutions SET revoked_at = ?, revoked_by = ?"
    " WHERE id = ? AND revoked_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class Substitution:
    """A user answers for another. Times without a zone are Unix times.

    Attributes:
        user_id: user whose requests the substitute may answer.
    """

    id: str
    user_id: str
    substitute_id: str
    note: str
    starts_at: float
    ends_at: float
    created_by: str
    created_at: str
    revoked_at: str | None = None
    revoked_by: str | None = None

    def is_active(self, now: float) -> bool:
        return self.revoked_at is None and self.starts_at <= now < self.ends_at

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit."""
        return {
            "user_id": self.user_id,
            "substitute_id": self.substitute_id,
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "note": self.note,
        }


class SubstitutionStore:
    """Creates and revokes substitutions, and caches those that have not ended."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        on_change: Callable[[], None],
    ) -> None:
        """Bind it.

        Args:
            on_change: called when substitutions have changed.
        """
        self._db = db
        self._on_change = on_change
        self._clock = clock
        self._audit = audit
        self._current: tuple[Substitution, ...] = ()
        changes.watch(SUBSTITUTIONS, self.load)

    async def load(self) -> None:
        """Load the substitutions that have not ended."""
        now = self._clock.time()

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_CURRENT, (now,))

        self._replace(tuple(_of_row(row) for row in await self._db.transact(read)))

    def list_current(self, user_id: str | None = None) -> list[Substitution]:
        """Return what is active or planned, oldest start first.

        Args:
            user_id: only those of this user, on either side.
        """
        now = self._clock.time()
        found = (item for item in self._current if item.ends_at > now)
        return [item for item in found if user_id in (None, item.user_id, item.substitute_id)]

    def represented(self, substitute_id: str) -> list[str]:
        """Return the users for whom a user may answer now."""
        if not self._current:
            return []
        now = self._clock.time()
        return [
            item.user_id
            for item in self._current
            if item.substitute_id == substitute_id and item.is_active(now)
        ]

    async def create(
        self,
        user_id: str,
        substitute_id: str,
        *,
        starts_at: float | None,
        ends_at: float,
        note: str,
        actor: str,
    ) -> Substitution:
        """Store a substitution.

        Args:
            starts_at: Unix time; None for now.
            ends_at: Unix time.

        Raises:
            InvalidInput: the times are out of order or too far away, or both users are the same.
            Conflict: the user has too many substitutes already.
        """
        now = self._clock.time()
        start = now if starts_at is None else starts_at
        if user_key(user_id) == user_key(substitute_id):
            raise InvalidInput("substitute_id must be another user", field="substitute_id")
        if ends_at <= max(now, start):
            raise InvalidInput("ends_at must be later than now and than starts_at", field="ends_at")
        if ends_at - now > MAX_DAYS * 86_400:
            raise InvalidInput(f"ends_at must be within {MAX_DAYS} days", field="ends_at")
        if sum(item.user_id == user_id for item in self.list_current()) >= MAX_ACTIVE:
            raise Conflict(f"{user_id!r} has {MAX_ACTIVE} substitutes; revoke one first")
        moment = isoformat(self._clock.now())
        made = Substitution(
            *(new_id("sub"), user_id, substitute_id, note, start, ends_at, actor, moment)
        )

        def add(transaction: Transaction) -> None:
            transaction.execute(_ADD, _row(made))
            self._note(transaction, "created", made, actor)

        await self._db.transact(add)
        self._replace((*self._current, made))
        return made

    async def revoke(
        self, substitution_id: str, *, actor: str, only_of: str | None = None
    ) -> Substitution:
        """End a substitution at once, and return it.

        Args:
            only_of: user who must be on either side of it; None for any.

        Raises:
            NotFound: it does not exist, or does not concern this user.
            Conflict: it has ended already.
        """
        moment, now = isoformat(self._clock.now()), self._clock.time()

        def end(transaction: Transaction) -> Substitution:
            rows = transaction.fetch(_ONE, (substitution_id,))
            found = _of_row(rows[0]) if rows else None
            if found is None or only_of not in (None, found.user_id, found.substitute_id):
                raise NotFound(
                    f"Substitution {substitution_id!r} not found", substitution_id=substitution_id
                )
            if found.revoked_at is not None or found.ends_at <= now:
                raise Conflict("The substitution has ended", substitution_id=substitution_id)
            transaction.execute(_REVOKE, (moment, actor, substitution_id))
            self._note(transaction, "revoked", found, actor)
            return replace(found, revoked_at=moment, revoked_by=actor)

        ended = await self._db.transact(end)
        self._replace(tuple(item for item in self._current if item.id != substitution_id))
        return ended

    def _replace(self, current: tuple[Substitution, ...]) -> None:
        self._current = current
        self._on_change()

    def _note(self, transaction: Transaction, outcome: str, item: Substitution, actor: str) -> None:
        increment(transaction, SUBSTITUTIONS)
        self._audit.within(
            transaction,
            AuditEntry(
                "governance.substitution",
                actor=actor,
                subject=item.id,
                outcome=outcome,
                after=item.shown(),
            ),
        )


def _of_row(row: Sequence[Any]) -> Substitution:
    return Substitution(*row)


def _row(item: Substitution) -> tuple[Any, ...]:
    return (
        *(item.id, item.user_id, item.substitute_id, item.note, item.starts_at, item.ends_at),
        *(item.created_by, item.created_at, item.revoked_at, item.revoked_by),
    )
