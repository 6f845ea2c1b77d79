"""The few REST requests the terminal client makes, with the standard library alone."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from app.cli.client import CommandRefused, ConnectionFailed

TIMEOUT_S = 30
MAX_ANSWER_BYTES = 64 << 20


async def request(
    url: str, path: str, *, token: str | None = None, body: dict[str, Any] | None = None
) -> Any:
    """GET `path` below `/api/v1`, or POST `body` to it; the JSON of the answer.

    Raises:
        CommandRefused: the service answered with an error.
        ConnectionFailed: nobody answers there, or not with JSON.
    """
    return await asyncio.to_thread(_request, url, path, token, body)


def _request(url: str, path: str, token: str | None, body: dict[str, Any] | None) -> Any:
    call = urllib.request.Request(f"{url}/api/v1{path}")  # noqa: S310 - `checked_url` saw it
    call.add_header("Accept", "application/json")
    if token:
        call.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        call.data = json.dumps(body).encode()
        call.add_header("Content-Type", "application/json")
    try:
        with _opener(url).open(call, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read(MAX_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        raise _refused(error) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ConnectionFailed(f"{url}: {getattr(reason, 'strerror', None) or reason}") from None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Loopback is never reached through a proxy."""
    if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()


def _refused(error: urllib.error.HTTPError) -> CommandRefused:
    with error:
        try:
            body = dict(json.loads(error.read(1 << 20)))
        except (ValueError, TypeError):
            body = {}
    message = str(body.get("detail", f"HTTP {error.code} {error.reason}"))
    return CommandRefused(message, code=body.get("code", "internal"), status=error.code)
