"""Single-use rights to give one answer, for buttons in messages.

Only digests of the IDs are stored. A capability is bound to one confirmation, its digest, one user
and one option; the answer is given as that user, whose rights are looked up again.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from app.core.clock import Clock, isoformat
from app.core.errors import ConfirmationExpired, Conflict, NotFound
from app.db.writer import DatabaseWriter, Transaction

_ID_BYTES = 32
_ADD = (
    "INSERT INTO answer_capabilities (sha256, confirmation_id, digest, user_id, token_id,"
    " option_id, subscription_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE = (
    "UPDATE answer_capabilities SET used_at = ?"
    " WHERE sha256 = ? AND used_at IS NULL AND expires_at > ?"
)
_READ = (
    "SELECT confirmation_id, digest, user_id, token_id, option_id, subscription_id, expires_at,"
    " used_at FROM answer_capabilities WHERE sha256 = ?"
)
_REMOVE = (
    "DELETE FROM answer_capabilities WHERE sha256 IN"
    " (SELECT sha256 FROM answer_capabilities WHERE expires_at < ? LIMIT ?)"
)


_UNKNOWN = "This button is unknown; open the request instead"


class CapabilityUnknown(NotFound):
    """No such capability was issued, or it was deleted long after its end."""


class CapabilityUsed(Conflict):
    """The capability has given its one answer."""


class CapabilityExpired(ConfirmationExpired):
    """The capability has ended with its request."""


@dataclass(frozen=True, slots=True)
class AnswerCapability:
    """Right to give one answer, as one user."""

    confirmation_id: str
    digest: str
    user_id: str
    token_id: str | None
    option_id: str
    subscription_id: str


class AnswerCapabilities:
    """Issues capabilities, and takes each at most once."""

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def mint(
        self,
        confirmation_id: str,
        digest: str,
        user_id: str,
        token_id: str | None,
        option_id: str,
        subscription_id: str,
        expires_at: float,
    ) -> str:
        """Issue a capability in a transaction of its own; return its ID of 43 characters.

        Args:
            expires_at: Unix time.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        capability = AnswerCapability(
            confirmation_id, digest, user_id, token_id, option_id, subscription_id
        )
        return await self._db.transact(lambda work: self.mint_within(work, capability, expires_at))

    def mint_within(
        self, transaction: Transaction, capability: AnswerCapability, expires_at: float
    ) -> str:
        """Issue a capability within a transaction; return its ID."""
        capability_id = secrets.token_urlsafe(_ID_BYTES)
        transaction.execute(
            _ADD,
            (
                *(_digest(capability_id), capability.confirmation_id, capability.digest),
                *(capability.user_id, capability.token_id, capability.option_id),
                *(capability.subscription_id, isoformat(self._clock.now()), expires_at),
            ),
        )
        return capability_id

    async def peek(self, capability_id: str) -> AnswerCapability:
        """Return a capability without taking it, even if it is used or late.

        Raises:
            CapabilityUnknown: it was never issued.
            StorageUnavailable: the database is not readable.
        """
        digest = _digest(capability_id)
        found = await self._db.transact(lambda work: work.fetch(_READ, (digest,)))
        if not found:
            raise CapabilityUnknown(_UNKNOWN)
        return AnswerCapability(*found[0][:-2])

    async def take(self, capability_id: str) -> AnswerCapability:
        """Take a capability: of concurrent attempts, one succeeds.

        Raises:
            CapabilityUnknown: it was never issued.
            CapabilityUsed: it was taken before.
            CapabilityExpired: its time has passed.
            StorageUnavailable: the database is not writable.
        """
        now = self._clock.now()
        return await self._db.transact(lambda work: _taken(work, _digest(capability_id), now))

    def trim(self, transaction: Transaction, until: float, rows: int) -> int:
        """Delete capabilities that ended before a Unix time; return their number."""
        return transaction.execute(_REMOVE, (until, rows))


def _taken(transaction: Transaction, digest: str, now: datetime) -> AnswerCapability:
    taken = transaction.execute(_TAKE, (isoformat(now), digest, now.timestamp()))
    found = transaction.fetch(_READ, (digest,))
    if not found:
        raise CapabilityUnknown(_UNKNOWN)
    *fields, expires_at, used_at = found[0]
    if taken:
        return AnswerCapability(*fields)
    if used_at is not None:
        raise CapabilityUsed("This button was used already; open the request instead")
    del expires_at
    raise CapabilityExpired("This button has expired; the call was not run")


def _digest(capability_id: str) -> str:
    return sha256(capability_id.encode("utf-8", "replace")).hexdigest()
