"""Deliveries of other systems: signed, without a token."""

from __future__ import annotations

import asyncio
from typing import Self

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request

from app.agents.webhooks.receiving import MAX_BODY_BYTES, Begun
from app.agents.webhooks.signatures import HEADER
from app.api.deps import ServiceDep, source_of
from app.api.errors import problems
from app.api.rest.routing import routes_of
from app.api.rest.shapes import example
from app.core.errors import Conflict, RateLimited, TooLarge

router = routes_of("webhooks", route_class=APIRoute)

# What nobody has signed yet may take up so much of the service, and no more.
MAX_READING = 32
_BODY_S = 10.0


class Delivered(BaseModel):
    """The run that a delivery has begun."""

    model_config = example(run_id="run_1", session_id="ses_1")

    run_id: str
    session_id: str

    @classmethod
    def of(cls, begun: Begun) -> Self:
        return cls(run_id=begun.run_id, session_id=begun.session_id)


class Readers:
    """How many bodies are being read at the same time."""

    def __init__(self) -> None:
        self._count = 0

    async def read(self, request: Request) -> bytes:
        """The body of a request.

        Raises:
            TooLarge: it is larger than a delivery may be.
            RateLimited: too many are being read, or this one takes too long.
        """
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > MAX_BODY_BYTES:
            raise _too_large()
        if self._count >= MAX_READING:
            raise RateLimited("Too many deliveries at once", retry_after_ms=1000)
        self._count += 1
        try:
            async with asyncio.timeout(_BODY_S):
                return await _body(request)
        except TimeoutError:
            raise RateLimited("The body took too long", retry_after_ms=1000) from None
        finally:
            self._count -= 1


_readers = Readers()


@router.post(
    "/hooks/{name}",
    status_code=202,
    summary="Deliver to a webhook",
    responses=problems(Conflict, RateLimited, TooLarge),
)
async def deliver_to_webhook(name: str, service: ServiceDep, request: Request) -> Delivered:
    """No token: the header `X-Tollgate-Signature: t=<Unix time>,v1=<hex>` shows who sends.

    `v1` is the HMAC-SHA256 of `<Unix time>.<body>` with the webhook's secret. It is good for
    five minutes and once. The body may be anything of at most 256 KiB. Without a right
    signature every name is answered alike.
    """
    source = source_of(request)
    signature = service.webhooks.signature(request.headers.getlist(HEADER), name, source=source)
    body = await _readers.read(request)
    return Delivered.of(await service.webhooks.receive(name, signature, body, source=source))


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    return bytes(body)


def _too_large() -> TooLarge:
    return TooLarge(f"A delivery is at most {MAX_BODY_BYTES} bytes")
