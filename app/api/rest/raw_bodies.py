"""Bounded reading of bodies that are not JSON."""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.requests import ClientDisconnect, Request

from app.core.errors import BadFrame, RateLimited, TooLarge


class RawBodies:
    """Reader of bodies of one kind, with limits on concurrent reads.

    Args:
        one: name of a body in messages.
        many: its plural.
        at_once: maximum number of concurrent bodies of all senders.
        each: maximum number of concurrent bodies of one sender, so that it cannot block others.
        seconds: time limit for reading a body.
    """

    def __init__(self, one: str, many: str, *, at_once: int, each: int, seconds: float) -> None:
        self._one = one
        self._many = many
        self._at_once = at_once
        self._each = each
        self._seconds = seconds
        self._of: Counter[str] = Counter()

    async def read(self, request: Request, *, sender: str, max_bytes: int) -> bytes:
        """Return the body of a request.

        Raises:
            BadFrame: the client disconnected before the end of the body.
            TooLarge: the body exceeds `max_bytes`; it is not read if `Content-Length` says so.
            RateLimited: too many bodies are being read, or this one takes too long.
        """
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > max_bytes:
            raise self._too_large(max_bytes)
        if self._of.total() >= self._at_once or self._of[sender] >= self._each:
            raise RateLimited(
                f"Too many {self._many} at the same time; try again later", retry_after_ms=1000
            )
        self._of[sender] += 1
        try:
            async with asyncio.timeout(self._seconds):
                return await self._body(request, max_bytes)
        except ClientDisconnect:
            raise BadFrame("The body is incomplete") from None
        except TimeoutError:
            raise RateLimited("The body did not arrive in time", retry_after_ms=1000) from None
        finally:
            self._of[sender] -= 1
            if not self._of[sender]:
                del self._of[sender]

    async def _body(self, request: Request, max_bytes: int) -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise self._too_large(max_bytes)
        return bytes(body)

    def _too_large(self, max_bytes: int) -> TooLarge:
        return TooLarge(f"{self._one} must not exceed {max_bytes} bytes")
