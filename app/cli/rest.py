"""REST requests of the command line, with the standard library alone."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from types import MappingProxyType
from typing import Any, Literal

from app.cli.service_errors import CommandRefused, ConnectionFailed, checked_token, is_here
from app.core.escaping import visible

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
    """GET `path` below `/api/v1`, or POST `body` to it; return the JSON response.

    Raises:
        CommandRefused: The service answered with an error or a redirect.
        ConnectionFailed: The service does not answer, or not with JSON.
        InvalidInput: The token is invalid.
    """
    call = _call(url, path, token, body, method)
    for name, value in headers.items():
        call.add_header(name, value)
    return await asyncio.to_thread(_request, url, call)


def lines_of(url: str, path: str, *, token: str | None = None) -> Iterator[bytes]:
    """Yield the response of a GET piece by piece. Blocks.

    Raises:
        CommandRefused, ConnectionFailed: As `request`.
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
    """Refuses redirects, which would send the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Return an opener that never uses a proxy for loopback addresses."""
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
        message = f"The service redirects to {visible(location)}: use that address if you trust it"
    details = body.get("details") or {}
    return CommandRefused(
        message, code=body.get("code", "internal"), status=error.code, details=details
    )
