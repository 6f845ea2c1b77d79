"""Bearer tokens: random, stored as a digest, shown once, revocable immediately."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound, StorageUnavailable, Unauthenticated
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry
from app.governance.identity.freshness import Freshness
from app.governance.identity.token_rules import (
    ADMIN_USER,
    BOOTSTRAP_USER,
    LOCAL_USER,
    SCOPES,
    check_days,
    check_grace,
    check_name,
    check_rights,
)
from app.governance.limits import NO_LIMITS, Limits

if TYPE_CHECKING:
    from app.governance.audit.log import AuditLog

__all__ = ["ADMIN_USER", "BOOTSTRAP_USER", "LOCAL_USER", "SCOPES", "Token", "Tokens"]

PREFIX = "tg_"

# `expired` and `revoked` differ: after the first, a client may return with a new token.
Standing = Literal["holds", "expired", "revoked"]

_ADD = (
    "INSERT INTO tokens (id, name, prefix, sha256, scopes, agents, projects, limits, created_by,"
    " created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_LIST = (
    "SELECT sha256, id, name, prefix, scopes, agents, projects, limits, created_by, created_at,"
    " expires_at, revoked_at, last_used_at FROM tokens ORDER BY created_at, id"
)
_REVOKE = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
_END_AT = "UPDATE tokens SET expires_at = ? WHERE id = ?"
_USED = "UPDATE tokens SET last_used_at = ? WHERE id = ?"
_STAMP_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    """Public fields of a token. `agents` and `projects` of None mean all."""

    id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    limits: Limits = field(default=NO_LIMITS)
    created_by: str | None = None
    created_at: str = ""
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None

    def state(self, now: str) -> Standing:
        """Return whether the token is usable at a time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "holds"

    def to_dict(self) -> dict[str, Any]:
        """Return the form as JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "prefix": self.prefix,
            "scopes": list(self.scopes),
            "agents": None if self.agents is None else list(self.agents),
            "projects": None if self.projects is None else list(self.projects),
            "limits": self.limits.to_json(),
            "created_by": self.created_by,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "last_used_at": self.last_used_at,
        }


class Tokens:
    """Issues, checks, rotates and revokes tokens.

    Cached in memory, and reloaded at most once a second if another process may have changed them.
    """

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._by_digest: dict[str, Token] = {}
        self._by_id: dict[str, Token] = {}
        self._freshness = Freshness(clock, self.refresh)
        self._stamped: dict[str, float] = {}

    async def create(
        self,
        name: str,
        scopes: Iterable[str] = SCOPES,
        *,
        days: int | None = None,
        agents: Iterable[str] | None = None,
        projects: Iterable[str] | None = None,
        limits: Limits = NO_LIMITS,
        by: str = LOCAL_USER,
    ) -> tuple[str, Token]:
        """Create a token; return its secret, which is never shown again, and its fields.

        Raises:
            InvalidInput: an unknown scope, an empty or built-in name, an invalid lifetime, or
                restrictions on an administrator.
        """
        check_name(name)
        check_days(days)
        granted = check_rights(scopes, agents, projects)
        now = self._clock.now()
        expires = None if days is None else isoformat(now + timedelta(days=days))
        secret, token = _made(name, now)
        token = replace(
            token,
            scopes=granted.scopes,
            agents=granted.agents,
            projects=granted.projects,
            limits=limits,
            created_by=by,
            expires_at=expires,
        )

        def add(transaction: Transaction) -> None:
            self._add(transaction, secret, token, by)

        await self._db.transact(add)
        await self.refresh()
        return secret, token

    async def bootstrap(self) -> str | None:
        """Create a token with all rights if none exists; None if one exists.

        Checked and created in one transaction, so two services that start together create only one.
        """
        secret, token = _made(BOOTSTRAP_USER, self._clock.now())
        token = replace(token, scopes=SCOPES, created_by=LOCAL_USER)

        def add(transaction: Transaction) -> bool:
            if transaction.fetch("SELECT id FROM tokens WHERE revoked_at IS NULL LIMIT 1"):
                return False
            self._add(transaction, secret, token, LOCAL_USER)
            return True

        made = await self._db.transact(add)
        await self.refresh()
        return secret if made else None

    async def rotate(
        self, token_id: str, *, grace_s: int = 0, by: str = LOCAL_USER
    ) -> tuple[str, Token]:
        """Create a token with the same name, rights and lifetime.

        The old one ends immediately, or after `grace_s` seconds, so that its user can switch.

        Raises:
            NotFound: the token does not exist or is no longer valid.
            InvalidInput: the grace period exceeds a week.
        """
        check_grace(grace_s)
        await self.refresh()
        now = self._clock.now()
        old = self._active(token_id, now)
        secret, made = _made(old.name, now)
        token = replace(
            old,
            id=made.id,
            prefix=made.prefix,
            created_by=by,
            created_at=made.created_at,
            expires_at=_as_long(old, now),
            last_used_at=None,
        )
        end = isoformat(now + timedelta(seconds=grace_s))

        def swap(transaction: Transaction) -> None:
            if grace_s and (old.expires_at is None or end < old.expires_at):
                transaction.execute(_END_AT, (end, old.id))
            elif not grace_s and not transaction.execute(_REVOKE, (end, old.id)):
                raise NotFound(f"Active token {token_id!r} not found", token=token_id)
            self._add(transaction, secret, token, by, kind="token.rotated", before=old)

        await self._db.transact(swap)
        await self.refresh()
        return secret, token

    async def list_all(self) -> list[Token]:
        """Return every token, oldest first."""
        await self.refresh()
        return list(self._by_id.values())

    async def get(self, token_id: str) -> Token:
        """Return a token in any state.

        Raises:
            NotFound: the token does not exist.
        """
        await self.refresh()
        token = self._by_id.get(token_id)
        if token is None:
            raise NotFound(f"Token {token_id!r} not found", token=token_id)
        return token

    async def revoke(self, name_or_id: str, *, by: str = LOCAL_USER) -> list[Token]:
        """Revoke the token with the ID, or all tokens with the name; return them.

        Raises:
            NotFound: the token does not exist or is already revoked.
        """
        await self.refresh()
        own = self._by_id.get(name_or_id)
        meant = [own] if own else [t for t in self._by_id.values() if t.name == name_or_id]
        moment = isoformat(self._clock.now())

        def revoke(transaction: Transaction) -> list[str]:
            ended = [token for token in meant if transaction.execute(_REVOKE, (moment, token.id))]
            for token in ended:
                self._audit.within(
                    transaction,
                    AuditEntry(
                        "token.revoked",
                        actor=by,
                        subject=token.id,
                        before=token.to_dict(),
                        after={**token.to_dict(), "revoked_at": moment},
                    ),
                )
            return [token.id for token in ended]

        ended = await self._db.transact(revoke)
        await self.refresh()
        if not ended:
            raise NotFound(f"Active token {name_or_id!r} not found", token=name_or_id)
        return [self._by_id[token_id] for token_id in ended]

    async def any_issued(self) -> bool:
        """Return whether authentication is required: an unrevoked token exists.

        Expired tokens count: expiry must not open access.
        """
        await self._freshness.ensure()
        return any(token.revoked_at is None for token in self._by_id.values())

    async def standing(self, token_id: str) -> Standing:
        """Return whether the token with this ID is still valid."""
        await self._freshness.ensure()
        token = self._by_id.get(token_id)
        return "revoked" if token is None else token.state(isoformat(self._clock.now()))

    async def holder(self, token_id: str) -> Token:
        """Return the token with the ID.

        Raises:
            Unauthenticated: it is unknown, expired or revoked.
        """
        await self._freshness.ensure()
        token = self._by_id.get(token_id)
        if token is None or token.state(isoformat(self._clock.now())) != "holds":
            raise _refused()
        return token

    async def check(self, secret: str) -> Token:
        """Return the token of a secret.

        Raises:
            Unauthenticated: unknown, expired or revoked.
        """
        token = await self.find(secret)
        if token is None:
            raise _refused()
        await self._stamp(token)
        return token

    async def find(self, secret: str) -> Token | None:
        """Return the token of a secret if it is valid, without counting a use."""
        await self._freshness.ensure()
        token = self._by_digest.get(digest(secret))
        if token is None or token.state(isoformat(self._clock.now())) != "holds":
            return None
        return token

    async def refresh(self) -> None:
        """Reload the tokens."""

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_LIST)

        rows = await self._db.transact(read)
        self._by_digest = {row[0]: _token(row[1:]) for row in rows}
        self._by_id = {token.id: token for token in self._by_digest.values()}
        self._freshness.read()

    def _add(
        self,
        transaction: Transaction,
        secret: str,
        token: Token,
        by: str,
        *,
        kind: str = "token.created",
        before: Token | None = None,
    ) -> None:
        row = (
            token.id,
            token.name,
            token.prefix,
            digest(secret),
            _json(token.scopes),
            None if token.agents is None else _json(token.agents),
            None if token.projects is None else _json(token.projects),
            _json(token.limits.to_json()),
            token.created_by,
            token.created_at,
            token.expires_at,
        )
        transaction.execute(_ADD, row)
        self._audit.within(
            transaction,
            AuditEntry(
                kind,
                actor=by,
                subject=token.id,
                before=None if before is None else before.to_dict(),
                after=token.to_dict(),
            ),
        )

    def _active(self, token_id: str, now: datetime) -> Token:
        token = self._by_id.get(token_id)
        if token is None or token.state(isoformat(now)) != "holds":
            raise NotFound(f"Active token {token_id!r} not found", token=token_id)
        return token

    async def _stamp(self, token: Token) -> None:
        """Record the use, at most once a minute per token."""
        now = self._clock.monotonic()
        if now - self._stamped.get(token.id, float("-inf")) < _STAMP_EVERY_S:
            return
        self._stamped[token.id] = now
        row = (isoformat(self._clock.now()), token.id)

        def stamp(transaction: Transaction) -> int:
            return transaction.execute(_USED, row)

        # Access does not depend on recording the use, so a failed write is ignored.
        with suppress(StorageUnavailable):
            await self._db.transact(stamp)


def digest(secret: str) -> str:
    """Return the stored digest of a secret.

    A fast hash suffices: the secret has 256 random bits and cannot be guessed.
    """
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def equal_secrets(left: str, right: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def _made(name: str, now: datetime) -> tuple[str, Token]:
    secret = PREFIX + secrets.token_urlsafe(32)
    return secret, Token(new_id("tok"), name, secret[:8], (), created_at=isoformat(now))


def _as_long(token: Token, now: datetime) -> str | None:
    """Return the end of a lifetime equal to the token's, starting now."""
    if token.expires_at is None:
        return None
    lasted = datetime.fromisoformat(token.expires_at) - datetime.fromisoformat(token.created_at)
    return isoformat(now + lasted)


def _token(row: tuple[Any, ...]) -> Token:
    token_id, name, prefix, scopes, agents, projects, limits, *rest = row
    return Token(
        token_id,
        name,
        prefix,
        tuple(orjson.loads(scopes)),
        _ids(agents),
        _ids(projects),
        Limits.from_json(limits),
        *rest,
    )


def _ids(stored: str | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(orjson.loads(stored))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _refused() -> Unauthenticated:
    return Unauthenticated("The token is unknown, expired or revoked")
