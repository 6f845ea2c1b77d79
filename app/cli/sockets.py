"""WebSocket connections of the command line."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio import client as websocket

from app.cli.service_errors import is_here


class Socket(websocket.connect):
    """Connection to one address without redirects, which would send the token elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


def open_socket(url: str, path: str, **options: Any) -> Socket:
    """Open `path` below `/api/v1` of a service; loopback addresses never use a proxy."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return Socket(
        f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/api/v1{path}",
        compression=None,
        open_timeout=10,
        close_timeout=2,
        proxy=None if is_here(url) else True,
        user_agent_header=None,
        **options,
    )
