"""Bearer tokens: random, stored as a digest, shown once."""

from __future__ import annotations

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import InvalidInput, NotFound, StorageUnavailable, Unauthenticated
from app.core.ids import new_id
from app.db.ledger import Ledger, Transaction

SCOPES = ("chat", "tools:call", "approve", "admin", "audit:read")
PREFIX = "tg_"
# A token's name is its user's: these two own sessions without a stored token.
LOCAL_USER = "local"
ADMIN_USER = "admin"
RESERVED_NAMES = frozenset({LOCAL_USER, ADMIN_USER})

_ADD = (
    "INSERT INTO tokens (id, name, prefix, sha256, scopes, created_at, expires_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LIST = (
    "SELECT id, name, prefix, scopes, created_at, expires_at, revoked_at, last_used_at, sha256"
    " FROM tokens ORDER BY created_at"
)
_REVOKE = "UPDATE tokens SET revoked_at = ? WHERE (id = ? OR name = ?) AND revoked_at IS NULL"
_USED = "UPDATE tokens SET last_used_at = ? WHERE id = ?"
_STAMP_EVERY_S = 60.0
REREAD_S = 1.0


@dataclass(frozen=True, slots=True)
class Token:
    """What may be shown of a token."""

    id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class Tokens:
    """Issues, checks and revokes tokens.

    The digests are kept in memory and re-read when another process may have changed
    them, at most once a second.
    """

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._by_digest: dict[str, Token] = {}
        self._read_at = float("-inf")
        self._stamped: dict[str, float] = {}

    async def create(
        self, name: str, scopes: tuple[str, ...] = SCOPES, *, days: int | None = None
    ) -> tuple[str, Token]:
        """A new token and its description; the token itself is never shown again.

        Raises:
            InvalidInput: an unknown scope, an empty or built-in name, a lifetime that is no
                number of days.
        """
        unknown = [scope for scope in scopes if scope not in SCOPES]
        if unknown or not scopes:
            raise InvalidInput(f"scopes must be among {', '.join(SCOPES)}", field="scopes")
        if not name.strip() or len(name) > 64:
            raise InvalidInput("name must have 1 to 64 characters", field="name")
        if name.strip().lower() in RESERVED_NAMES:
            raise InvalidInput(f"{name!r} is the name of a built-in user", field="name")
        if days is not None and not 1 <= days <= 3650:
            raise InvalidInput("days must be between 1 and 3650", field="days")
        secret = PREFIX + secrets.token_urlsafe(32)
        now = self._clock.now()
        expires = isoformat(now + timedelta(days=days)) if days else None
        token = Token(new_id("tok"), name, secret[:8], scopes, isoformat(now), expires, None, None)
        row = (
            token.id,
            name,
            token.prefix,
            _digest(secret),
            orjson.dumps(list(scopes)).decode(),
            token.created_at,
            expires,
        )

        def add(transaction: Transaction) -> int:
            return transaction.execute(_ADD, row)

        await self._ledger.transact(add)
        await self.refresh()
        return secret, token

    async def list_all(self) -> list[Token]:
        await self.refresh()
        return list(self._by_digest.values())

    async def revoke(self, name_or_id: str) -> None:
        """End a token at once.

        Raises:
            NotFound: there is no such token, or it is revoked already.
        """
        row = (isoformat(self._clock.now()), name_or_id, name_or_id)

        def revoke(transaction: Transaction) -> int:
            return transaction.execute(_REVOKE, row)

        if not await self._ledger.transact(revoke):
            raise NotFound(f"No active token {name_or_id!r}", token=name_or_id)
        await self.refresh()

    async def any_issued(self) -> bool:
        """Whether the house is guarded: there is a token that nobody has revoked.

        One that has expired counts: a house must not open by itself.
        """
        await self._refresh_old()
        return any(token.revoked_at is None for token in self._by_digest.values())

    async def still_holds(self, token_id: str) -> bool:
        """Whether the token of that id may still be used."""
        await self._refresh_old()
        return any(t.id == token_id and self._is_active(t) for t in self._by_digest.values())

    async def check(self, secret: str) -> Token:
        """The token behind a secret.

        Raises:
            Unauthenticated: unknown, expired or revoked.
        """
        await self._refresh_old()
        token = self._by_digest.get(_digest(secret))
        if token is None or not self._is_active(token):
            raise Unauthenticated("The token is unknown, expired or revoked")
        await self._stamp(token)
        return token

    async def _refresh_old(self) -> None:
        if self._clock.monotonic() - self._read_at <= REREAD_S:
            return
        try:
            await self.refresh()
        except StorageUnavailable:
            # What was read last still says who may come in; nothing was ever read: nobody.
            if self._read_at == float("-inf"):
                raise

    async def refresh(self) -> None:
        """Read the tokens again."""

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_LIST)

        rows = await self._ledger.transact(read)
        self._by_digest = {
            row[8]: Token(row[0], row[1], row[2], tuple(orjson.loads(row[3])), *row[4:8])
            for row in rows
        }
        self._read_at = self._clock.monotonic()

    def _is_active(self, token: Token) -> bool:
        if token.revoked_at is not None:
            return False
        return token.expires_at is None or token.expires_at > isoformat(self._clock.now())

    async def _stamp(self, token: Token) -> None:
        """Note the use, at most once a minute and token."""
        now = self._clock.monotonic()
        if now - self._stamped.get(token.id, float("-inf")) < _STAMP_EVERY_S:
            return
        self._stamped[token.id] = now
        row = (isoformat(self._clock.now()), token.id)

        def stamp(transaction: Transaction) -> int:
            return transaction.execute(_USED, row)

        # A database that cannot be written keeps nobody out: the note is not what lets them in.
        with suppress(StorageUnavailable):
            await self._ledger.transact(stamp)


def equal_secrets(left: str, right: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())


def _digest(secret: str) -> str:
    # A fast hash is right here: the secret is 256 random bits, there is nothing to guess.
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
