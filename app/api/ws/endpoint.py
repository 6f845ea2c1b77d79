"""`GET /api/v1/ws`: authentication by the request or after accepting it, then a `Connection`."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress

from fastapi import APIRouter
from starlette.websockets import WebSocket

from app.api.auth import bearer, login_cookie
from app.api.deps import source_of
from app.api.principal import Principal
from app.api.service import Service
from app.api.ws import close_codes
from app.api.ws.connection import Connection
from app.api.ws.connections import Connections
from app.api.ws.error_boundary import contain
from app.api.ws.limits import Remembered
from app.core.errors import RateLimited, StorageUnavailable, Unauthenticated, UpgradeRequired
from app.events.envelope import PROTOCOL

router = APIRouter()
_BEARER = "tollgate.bearer."
_NOT_ASKED_FOR = (
    "This is a WebSocket; a proxy in front of it must forward `Upgrade` and "
    "`Connection`: docs/reverse-proxy.md"
)


@router.get("/api/v1/ws", include_in_schema=False)
@router.get("/api/v1/desktop/ws", include_in_schema=False)
async def refuse_plain_request() -> None:
    """Refuse a request without `Upgrade`, such as from a proxy that does not forward it.

    Raises:
        UpgradeRequired: always.
    """
    raise UpgradeRequired(_NOT_ASKED_FOR)


@router.websocket("/api/v1/ws")
async def chat(socket: WebSocket) -> None:
    """Serve the chat protocol; see `docs/protocol.md`."""
    service: Service = socket.app.state.service
    connections: Connections = socket.app.state.connections
    offered = socket.scope.get("subprotocols") or []
    if offered and PROTOCOL not in offered:
        await socket.accept()
        await _close(socket, close_codes.UNSUPPORTED_VERSION)
        return
    await socket.accept(subprotocol=PROTOCOL if offered else None)
    try:
        principal = await _early_principal(socket, service, offered)
    except Unauthenticated:
        await _close(socket, close_codes.UNAUTHENTICATED)
        return
    except RateLimited:
        await _close(socket, close_codes.RATE_LIMITED)
        return
    except StorageUnavailable:
        await _close(socket, close_codes.INTERNAL)
        return
    remembered: Remembered = socket.app.state.remembered
    connection = Connection(socket, service, remembered, principal=principal)
    await _serve(socket, service, connections, connection)


async def _serve(
    socket: WebSocket, service: Service, connections: Connections, connection: Connection
) -> None:
    connection.on_ready = lambda: connections.admit(connection, service.settings.max_connections)
    service.metrics.gauge("websocket_connections", 1)
    try:
        how, _ = await contain(connection.serve(), f"connection {connection.id}")
    finally:
        connections.open.discard(connection)
        service.metrics.gauge("websocket_connections", -1)
    if how is not close_codes.GONE:
        await _close(socket, how or close_codes.INTERNAL)


async def _early_principal(
    socket: WebSocket, service: Service, offered: list[str]
) -> Principal | None:
    """Return the principal of the token or cookie in the request itself; None without either.

    A cookie only counts with an `Origin`, which a middleware has already checked.

    Raises:
        RateLimited: too many attempts have failed.
        Unauthenticated: the token is invalid.
    """
    authenticator = service.authenticator
    token = bearer(socket.headers.get("authorization")) or _subprotocol_token(offered)
    if token is not None:
        return await authenticator.authenticate(token, source=source_of(socket))
    secret = login_cookie(socket.cookies)
    if secret is None or socket.headers.get("origin") is None:
        return None
    return await authenticator.signed_in(secret)


def _subprotocol_token(offered: list[str]) -> str | None:
    """Return the token from `tollgate.bearer.<base64url without padding>`; None without one."""
    for name in offered:
        if name.startswith(_BEARER):
            encoded = name.removeprefix(_BEARER)
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise Unauthenticated("The bearer subprotocol is not valid base64url") from None
    return None


async def _close(socket: WebSocket, how: close_codes.Close) -> None:
    with suppress(RuntimeError, OSError):  # the client closed it first
        await socket.close(how.code, how.reason)
