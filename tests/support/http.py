"""HTTP client of the tests."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any

import httpx2

PATIENCE_S = 60


class HttpClient(httpx2.AsyncClient):
    """Client with a timeout for hangs only, suitable for a busy machine."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {"timeout": PATIENCE_S, "verify": _certificates()}
        super().__init__(**usual | options)


@cache
def _certificates() -> ssl.SSLContext:
    """Return no certificates: reading the machine's takes longer than most requests."""
    return ssl.create_default_context()
