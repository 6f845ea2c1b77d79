"""The few REST requests the terminal client makes, with the standard library alone."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from types import MappingProxyType
from typing import Any, Literal

from app.cli.answered import CommandRefused, ConnectionFailed, checked_token, is_here
from app.core.visible import visible

TIMEOUT_S = 30
MAX_ANSWER_BYTES = 64 << 20
_CHUNK = 1 << 16

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
Method = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]


async def request(
    url: str,
    path: str,
    *,
    token: str | None = None,
    body: dict[str, Any] | None = None,
    method: Method | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Any:
    """GET `path` below `/api/v1`, or POST `body` to it; the JSON of the answer.

    Raises:
        CommandRefused: the service answered with an error, or with another address.
        ConnectionFailed: nobody answers there, or not with JSON.
        InvalidInput: the token is none.
    """
    call = _call(url, path, token, body, method)
    for name, value in headers.items():
        call.add_header(name, value)
    return await asyncio.to_thread(_request, url, call)


def lines_of(url: str, path: str, *, token: str | None = None) -> Iterator[bytes]:
    """What a GET answers, piece by piece as it comes. Blocks.

    Raises:
        CommandRefused, ConnectionFailed: as `request`.
    """
    try:
        with _opener(url).open(_call(url, path, token, None, None), timeout=TIMEOUT_S) as answer:
            while piece := answer.read(_CHUNK):
                yield piece
    except urllib.error.HTTPError as error:
        raise _refused(error) from None
    except (OSError, HTTPException) as error:
        raise _failed(url, error) from None


def _request(url: str, call: urllib.request.Request) -> Any:
    try:
        with _opener(url).open(call, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read(MAX_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        raise _refused(error) from None
    except (OSError, ValueError, HTTPException) as error:
        raise _failed(url, error) from None


def _call(
    url: str, path: str, token: str | None, body: dict[str, Any] | None, method: Method | None
) -> urllib.request.Request:
    call = urllib.request.Request(f"{url}/api/v1{path}", method=method)  # noqa: S310 - `checked_url` saw it
    call.add_header("Accept", "application/json")
    if token:
        call.add_header("Authorization", f"Bearer {checked_token(token)}")
    if body is not None:
        call.data = json.dumps(body).encode()
        call.add_header("Content-Type", "application/json")
    return call


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Loopback is never reached through a proxy."""
    if is_here(url):
        return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
    return urllib.request.build_opener(_NoRedirects)


def _failed(url: str, error: Exception) -> ConnectionFailed:
    reason = getattr(error, "reason", error)
    return ConnectionFailed(f"{url}: {getattr(reason, 'strerror', None) or reason}")


def _refused(error: urllib.error.HTTPError) -> CommandRefused:
    with error:
        try:
            body = dict(json.loads(error.read(1 << 20)))
        except (ValueError, TypeError):
            body = {}
    message = str(body.get("detail", f"HTTP {error.code} {error.reason}"))
    if location := error.headers.get("Location"):
        message = f"It redirects to {visible(location)}: name that address if it is the one meant"
    details = body.get("details") or {}
    return CommandRefused(
        message, code=body.get("code", "internal"), status=error.code, details=details
    )
