"""The HTTP client of the tests."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any

import httpx2

PATIENCE_S = 60


class HttpClient(httpx2.AsyncClient):
    """Waits as long as a busy machine takes: its limit only ends a hang."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {"timeout": PATIENCE_S, "verify": _certificates()}
        super().__init__(**usual | options)


@cache
def _certificates() -> ssl.SSLContext:
    """Reading all that the machine trusts takes longer than most requests; none here needs it."""
    return ssl.create_default_context()
