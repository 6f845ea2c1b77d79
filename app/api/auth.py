"""Who is asking, and from where.

With no token configured and a loopback address, everybody on this machine is `local`
with every right, but a request must still name a host that is ours and come from an
origin that is ours: otherwise any web page could drive the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.errors import Forbidden, Unauthenticated
from app.core.settings import Settings
from app.governance.tokens import (
    ADMIN_USER,
    LOCAL_USER,
    PREFIX,
    SCOPES,
    Tokens,
    equal_secrets,
)

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody with rights; `token_id` names the stored token they came from, if any."""

    user_id: str
    scopes: frozenset[str]
    token_id: str | None = None

    def may_see(self, owner: str) -> bool:
        """Whether what `owner` owns is visible."""
        return self.user_id == owner or "admin" in self.scopes

    def require(self, scope: str) -> None:
        """Raises Forbidden unless the scope (or `admin`) was granted."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(f"This needs the scope {scope!r}", scope=scope)


ALL_SCOPES = frozenset(SCOPES)


class Authenticator:
    """Checks hosts, origins and bearer tokens."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self._hosts = LOOPBACK_HOSTS | {host.lower() for host in settings.allowed_hosts}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.allowed_origins)

    async def authenticate(self, token: str | None) -> Principal:
        """Who holds `token`.

        Raises:
            Unauthenticated: it is wrong, or missing where one is needed.
        """
        if token:
            return await self._holder(token)
        open_house = self._settings.is_loopback and self._settings.token is None
        if open_house and not await self._tokens.any_issued():
            return Principal(LOCAL_USER, ALL_SCOPES)
        raise Unauthenticated("Send a token: `Authorization: Bearer …`")

    async def still_holds(self, principal: Principal) -> bool:
        """Whether what gave a principal its rights is still there; asked while it is connected."""
        if principal.token_id is not None:
            return await self._tokens.still_holds(principal.token_id)
        if principal.user_id == LOCAL_USER:
            return not await self._tokens.any_issued()
        return True

    def check_host(self, host: str | None) -> None:
        """Refuse a request for a name that is not ours: DNS rebinding ends here.

        Raises:
            Forbidden: the host is neither loopback nor among the allowed ones.
        """
        name = _host_name(host or "")
        if name not in self._hosts and name != self._settings.host.lower():
            raise Forbidden(
                f"Host {name!r} is not allowed; add it to TOLLGATE_ALLOWED_HOSTS", host=name
            )

    def check_origin(self, origin: str | None, host: str | None) -> None:
        """Refuse browsers on other pages. A request without an origin is not a browser's.

        Raises:
            Forbidden: the origin is neither the service's own nor among the allowed ones.
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

    async def _holder(self, token: str) -> Principal:
        own = self._settings.token
        if own is not None and equal_secrets(token, own.get_secret_value()):
            return Principal(ADMIN_USER, ALL_SCOPES)
        if not token.startswith(PREFIX):
            raise Unauthenticated("The token is unknown, expired or revoked")
        known = await self._tokens.check(token)
        return Principal(known.name, frozenset(known.scopes), known.id)


def bearer(header: str | None) -> str | None:
    """The token of an `Authorization` header; None without one.

    Raises:
        Unauthenticated: the header is there and is not a bearer token.
    """
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Authorization must be `Bearer <token>`")
    return token.strip()


def _host_name(host: str) -> str:
    """Host header without its port."""
    if host.startswith("["):
        return host[: host.find("]") + 1].lower()
    return host.partition(":")[0].lower()
