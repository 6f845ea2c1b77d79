"""Authentication of requests by token or cookie, with host and origin checks.

Every request must name an allowed host, and requests from web pages must have an allowed origin;
otherwise any web page could control the service. Requests with a cookie also need an `Origin` and
a CSRF token for every change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from app.api.login_throttle import LoginThrottle, is_guessable
from app.api.principal import ALL_SCOPES, Principal, holder_of
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.errors import BadFrame, Forbidden, TollgateError, Unauthenticated
from app.core.text import truncate
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.identity.logins import Logins, csrf_matches
from app.governance.identity.token_rules import ADMIN_USER, LOCAL_USER
from app.governance.identity.tokens import PREFIX, Standing, Tokens, equal_secrets

__all__ = ["ALL_SCOPES", "Authenticator", "Principal", "bearer", "login_cookie"]

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
COOKIE = "tollgate_login"
# Browsers accept this name only over HTTPS and without a `Domain`.
SECURE_COOKIE = f"__Host-{COOKIE}"
CSRF_HEADER = "x-csrf-token"
UNKNOWN_SOURCE = "unknown"
# Maximum time that an open connection or stream outlives its credentials.
RECHECK_S = 2.0
_MAX_SHOWN = 300
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:@/\\\[\]\s]+)(?::[0-9]{1,5})?")


class Authenticator:
    """Checks hosts, origins, tokens and logins."""

    def __init__(
        self, settings: Settings, tokens: Tokens, logins: Logins, audit: AuditLog, clock: Clock
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._logins = logins
        self._audit = audit
        self._hosts = LOOPBACK_HOSTS | {host.lower() for host in settings.allowed_hosts}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.allowed_origins)
        self._throttle = LoginThrottle(
            clock, settings.login_attempts, settings.serving.lockout_max_s, self._stopped
        )

    async def authenticate(
        self, token: str | None, *, source: str = UNKNOWN_SOURCE, how: str = "token"
    ) -> Principal:
        """Return the principal that holds `token`.

        Raises:
            RateLimited: too many attempts have failed from `source`, or for that account.
            Unauthenticated: the token is invalid, or missing although one is required.
        """
        if not token:
            return await self._without_token()
        counts = how == "login" or is_guessable(token)
        if counts:
            self._throttle.check(token, source)
        try:
            principal = await self._holder(token)
        except Unauthenticated:
            self._refused(source, how, token)
            if counts:
                self._throttle.failed(token, source)
            raise
        if counts:
            self._throttle.succeeded(token, source)
        return principal

    async def sign_in(self, token: str, *, source: str) -> tuple[str, Principal]:
        """Create a login for the holder of `token`; return its cookie's secret and the principal.

        Raises:
            RateLimited: too many attempts have failed from `source`, or for that account.
            Unauthenticated: the token is invalid.
        """
        principal = await self.authenticate(token, source=source, how="login")
        secret, login = await self._logins.begin(
            principal.user_id, principal.token_id, source=source
        )
        return secret, await self._of_login(login.id, principal.token_id)

    async def signed_in(self, secret: str) -> Principal | None:
        """Return the principal of a login cookie; None if the login has ended."""
        login = await self._logins.find(secret)
        return None if login is None else await self._of_login(login.id, login.token_id)

    async def rights_of(self, user_id: str, token_id: str | None) -> Principal | None:
        """Return the current principal of a user who set something up; None if the rights ended.

        Args:
            token_id: token that was used; None for the token of the settings or anonymous access.
        """
        try:
            if token_id is not None:
                principal = holder_of(await self._tokens.holder(token_id))
            elif user_id == ADMIN_USER and self._settings.token is not None:
                principal = Principal(ADMIN_USER, ALL_SCOPES, came_by="settings_token")
            else:
                principal = await self._without_token()
        except Unauthenticated:
            return None
        return principal if principal.user_id == user_id else None

    async def sign_out(self, principal: Principal) -> None:
        """End the principal's login, if it has one."""
        if principal.login_id is not None:
            await self._logins.end(principal.login_id)

    async def standing(self, principal: Principal, *, active: bool = False) -> Standing:
        """Check whether a principal's credentials are still valid during a connection.

        Args:
            active: the principal has just sent a request, which resets the login's idle timeout.
        """
        if principal.login_id is not None:
            if active:
                await self._logins.used(principal.login_id)
            return await self._logins.standing(principal.login_id)
        if principal.token_id is not None:
            return await self._tokens.standing(principal.token_id)
        if principal.came_by == "open_house":
            return "revoked" if await self._tokens.any_issued() else "holds"
        return "holds"

    def check_host(self, hosts: Sequence[str]) -> None:
        """Refuse a request for a foreign host name, to prevent DNS rebinding.

        Raises:
            BadFrame: there are several Host headers, and a proxy may have used another one.
            Forbidden: the host is neither loopback, nor the configured one, nor allowed.
        """
        if len(hosts) > 1:
            raise BadFrame("The request has several Host headers; send exactly one")
        name = _host_name(hosts[0] if hosts else "")
        if name not in self._hosts and name != self._settings.host.lower():
            raise Forbidden(
                f"Host {name!r} is not allowed; add it to TOLLGATE_ALLOWED_HOSTS", host=name
            )

    def check_origin(self, origin: str | None, host: str | None) -> None:
        """Refuse requests from foreign web pages. Requests without an origin are accepted.

        Raises:
            Forbidden: the origin is neither the service's own nor an allowed one.
        """
        if origin is None:
            return
        shown = origin.rstrip("/").lower()
        if shown in self._origins:
            return
        parts = urlsplit(shown)
        if parts.scheme in ("http", "https") and parts.netloc == (host or "").lower():
            return
        raise Forbidden(
            f"Origin {origin[:100]!r} is not allowed; add it to TOLLGATE_ALLOWED_ORIGINS"
        )

    def check_page(self, secret: str, headers: Mapping[str, str], *, changes: bool) -> None:
        """Refuse requests that a foreign page sends with the login cookie.

        Raises:
            Forbidden: the origin is foreign; or the request is a change without an origin or
                without the login's CSRF token.
        """
        origin = headers.get("origin")
        self.check_origin(origin, headers.get("host"))
        if not changes:
            return
        if origin is None:
            raise Forbidden(
                "A change authenticated by cookie requires an Origin header; send one, or "
                "use a token"
            )
        if not csrf_matches(secret, headers.get(CSRF_HEADER)):
            raise Forbidden("Send the header X-CSRF-Token with the `csrf_token` of GET /api/v1/me")

    async def _without_token(self) -> Principal:
        settings = self._settings
        may_be_open = settings.allow_anonymous and settings.is_loopback and settings.token is None
        if may_be_open and not await self._tokens.any_issued():
            return Principal(LOCAL_USER, ALL_SCOPES, came_by="open_house")
        raise Unauthenticated("Authentication required: send `Authorization: Bearer …`")

    async def _holder(self, token: str) -> Principal:
        own = self._settings.token
        if own is not None and equal_secrets(token, own.get_secret_value()):
            return Principal(ADMIN_USER, ALL_SCOPES, came_by="settings_token")
        if not token.startswith(PREFIX):
            raise Unauthenticated("The token is unknown, expired or revoked")
        return holder_of(await self._tokens.check(token))

    async def _of_login(self, login_id: str, token_id: str | None) -> Principal:
        if token_id is None:
            return Principal(ADMIN_USER, ALL_SCOPES, login_id=login_id, came_by="login")
        return holder_of(await self._tokens.holder(token_id), login_id=login_id)

    def forbade(
        self, principal: Principal, error: TollgateError, *, source: str, what: str
    ) -> None:
        """Record in the audit log that an authenticated principal was refused."""
        detail = {"what": truncate(what, _MAX_SHOWN), "token_id": principal.token_id}
        self._audit.refused(source, reason=error.message, user_id=principal.user_id, detail=detail)

    def _stopped(self, key: str, seconds: float) -> None:
        self._audit.record(
            AuditEntry(
                "auth.locked", actor="unknown", subject=key, detail={"seconds": int(seconds)}
            )
        )

    def _refused(self, source: str, how: str, token: str) -> None:
        # The stored prefix of a generated token identifies it without revealing it.
        tried = token[:8] if token.startswith(PREFIX) else None
        self._audit.refused(source, reason=f"wrong {how}", detail={"prefix": tried})


def bearer(header: str | None) -> str | None:
    """Return the token of an `Authorization` header; None without the header.

    Raises:
        Unauthenticated: the header is not a bearer token.
    """
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Authorization must be `Bearer <token>`")
    return token.strip()


def login_cookie(cookies: Mapping[str, str]) -> str | None:
    """Return the secret of the login cookie, or None without a cookie."""
    return cookies.get(SECURE_COOKIE) or cookies.get(COOKIE) or None


def _host_name(host: str) -> str:
    """Return a Host header in lower case without its port; an invalid one unchanged."""
    found = _HOST.fullmatch(host)
    return (found[1] if found else host).lower()
