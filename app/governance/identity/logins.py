"""Signed-in browsers: each has a random secret in a cookie; only its digest is stored.

A login is bound to its token and ends with it at the latest. It also expires some time after its
creation, and earlier if it is not used.
"""

from __future__ import annotations

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from app.core.clock import Clock, isoformat
from app.core.errors import StorageUnavailable
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry
from app.governance.identity.freshness import Freshness
from app.governance.identity.tokens import Standing, Tokens, digest, equal_secrets

if TYPE_CHECKING:
    from app.governance.audit.log import AuditLog

_ADD = (
    "INSERT INTO logins (id, token_id, user_id, sha256, created_at, expires_at, last_used_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LIST = (
    "SELECT sha256, id, token_id, user_id, created_at, expires_at, last_used_at FROM logins"
    " WHERE revoked_at IS NULL"
)
_END = "UPDATE logins SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
_USED = "UPDATE logins SET last_used_at = ? WHERE id = ?"
_FORGET = "DELETE FROM logins WHERE expires_at < ?"
_STAMP_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Login:
    """Signed-in browser; `token_id` of None is the token of the settings."""

    id: str
    token_id: str | None
    user_id: str
    created_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class LoginUse:
    """Active login, and its last use, to the minute."""

    login: Login
    last_used_at: str


class Logins:
    """Starts, checks and ends logins.

    Args:
        own_token: token of the settings, part of the digests of its logins, so that they end when
            it changes.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        tokens: Tokens,
        *,
        lifetime_s: float,
        idle_s: float,
        own_token: str | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._tokens = tokens
        self._lifetime = timedelta(seconds=lifetime_s)
        self._idle = timedelta(seconds=idle_s)
        self._own_token = own_token
        self._by_digest: dict[str, Login] = {}
        self._by_id: dict[str, Login] = {}
        self._used: dict[str, datetime] = {}
        self._stamped: dict[str, datetime] = {}
        self._freshness = Freshness(clock, self.refresh)

    async def begin(self, user_id: str, token_id: str | None, *, source: str) -> tuple[str, Login]:
        """Create a login for the holder of a token; return the secret, which is for the cookie
        only.
        """
        secret = secrets.token_urlsafe(32)
        now = self._clock.now()
        moment, end = isoformat(now), isoformat(now + self._lifetime)
        login = Login(new_id("log"), token_id, user_id, moment, end)
        stored = self._digest(secret, own=token_id is None)
        row = (login.id, token_id, user_id, stored, moment, end, moment)

        def add(transaction: Transaction) -> None:
            transaction.execute(_FORGET, (moment,))
            transaction.execute(_ADD, row)
            self._audit.within(
                transaction,
                AuditEntry(
                    "auth.login",
                    actor=user_id,
                    subject=login.id,
                    detail={"token_id": token_id, "source": source},
                ),
            )

        await self._db.transact(add)
        await self.refresh()
        return secret, login

    async def find(self, secret: str) -> Login | None:
        """Return the active login of a cookie, and count it as used."""
        await self._freshness.ensure()
        login = self._by_digest.get(self._digest(secret, own=False))
        if login is None and self._own_token is not None:
            login = self._by_digest.get(self._digest(secret, own=True))
        if login is None or await self.standing(login.id) != "holds":
            return None
        await self._stamp(login)
        return login

    def get(self, login_id: str) -> Login | None:
        """Return a login as last loaded."""
        return self._by_id.get(login_id)

    async def in_use(self) -> list[LoginUse]:
        """Return the active logins, most recently used first."""
        await self.refresh()
        holding = [
            login for login in self._by_id.values() if await self.standing(login.id) == "holds"
        ]
        uses = [
            LoginUse(login, isoformat(at) if (at := self._used.get(login.id)) else login.created_at)
            for login in holding
        ]
        return sorted(uses, key=lambda use: use.last_used_at, reverse=True)

    async def standing(self, login_id: str) -> Standing:
        """Check whether a sign-in and its token are still valid."""
        await self._freshness.ensure()
        login, now = self._by_id.get(login_id), self._clock.now()
        if login is None:
            return "revoked"
        idle = now - self._used.get(login.id, now) >= self._idle
        if idle or login.expires_at <= isoformat(now):
            return "expired"
        return "holds" if login.token_id is None else await self._tokens.standing(login.token_id)

    async def end(self, login_id: str, *, by: str | None = None) -> None:
        """Sign out; does nothing if already ended.

        Args:
            by: actor; its own user if None.
        """
        login, moment = self._by_id.get(login_id), isoformat(self._clock.now())

        def end(transaction: Transaction) -> None:
            if login is not None and transaction.execute(_END, (moment, login.id)):
                self._audit.within(
                    transaction,
                    AuditEntry("auth.logout", actor=by or login.user_id, subject=login.id),
                )

        await self._db.transact(end)
        await self.refresh()

    async def used(self, login_id: str) -> None:
        """Record the use of a login, so that it does not expire for inactivity."""
        login = self._by_id.get(login_id)
        if login is not None:
            await self._stamp(login)

    async def refresh(self) -> None:
        """Reload the logins."""

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_LIST)

        rows = await self._db.transact(read)
        self._by_digest = {row[0]: Login(*row[1:6]) for row in rows}
        self._by_id = {login.id: login for login in self._by_digest.values()}
        # This process's own observations are newer than its writes.
        stored = {row[1]: datetime.fromisoformat(row[6] or row[4]) for row in rows}
        self._used = {key: max(at, self._used.get(key, at)) for key, at in stored.items()}
        self._stamped = {key: at for key, at in self._stamped.items() if key in self._used}
        self._freshness.read()

    async def _stamp(self, login: Login) -> None:
        """Record the use, written at most once a minute."""
        now = self._clock.now()
        self._used[login.id] = now
        stamped = self._stamped.get(login.id)
        if stamped is not None and (now - stamped).total_seconds() < _STAMP_EVERY_S:
            return
        self._stamped[login.id] = now
        row = (isoformat(now), login.id)

        def stamp(transaction: Transaction) -> int:
            return transaction.execute(_USED, row)

        with suppress(StorageUnavailable):
            await self._db.transact(stamp)

    def _digest(self, secret: str, *, own: bool) -> str:
        return digest(f"{self._own_token}\0{secret}" if own else secret)


def csrf_token(secret: str) -> str:
    """Return the CSRF token that a page must send with its cookie.

    Derived from the cookie, so that it needs no storage and cannot outlive the login.
    """
    return hmac.new(secret.encode("utf-8", "replace"), b"csrf", "sha256").hexdigest()


def csrf_matches(secret: str, shown: str | None) -> bool:
    """Return whether a request was sent by a page that knows its CSRF token."""
    return shown is not None and equal_secrets(shown, csrf_token(secret))
