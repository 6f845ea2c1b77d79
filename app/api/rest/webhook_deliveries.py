"""Signed webhook deliveries of other systems, without a token."""

from __future__ import annotations

from typing import Self

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request

from app.agents.webhooks.deliveries import DeliveryRun
from app.agents.webhooks.receiver import MAX_BODY_BYTES
from app.agents.webhooks.signatures import HEADER
from app.api.deps import ServiceDep, source_of
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.raw_bodies import RawBodies
from app.api.rest.routing import routes_of
from app.core.errors import Conflict, RateLimited, TooLarge

router = routes_of("webhooks", route_class=APIRoute)

# Maximum number of concurrent deliveries whose signature is not yet verified.
MAX_READING = 32
_BODY_S = 10.0


class Delivered(BaseModel):
    """Run that a delivery has started."""

    model_config = example(run_id="run_1", session_id="ses_1")

    run_id: str
    session_id: str

    @classmethod
    def of(cls, begun: DeliveryRun) -> Self:
        return cls(run_id=begun.run_id, session_id=begun.session_id)


# Senders behind a proxy share one address, so the limit per sender is the total one.
_deliveries = RawBodies(
    "A webhook delivery", "deliveries", at_once=MAX_READING, each=MAX_READING, seconds=_BODY_S
)


@router.post(
    "/hooks/{name}",
    status_code=202,
    summary="Deliver to a webhook",
    responses=problems(Conflict, RateLimited, TooLarge),
)
async def deliver_to_webhook(name: str, service: ServiceDep, request: Request) -> Delivered:
    """Authenticated by the header `X-Tollgate-Signature: t=<Unix time>,v1=<hex>`, without a token.

    `v1` is the HMAC-SHA256 of `<Unix time>.<body>` with the webhook's secret. It is valid for five
    minutes, and once. The body can be anything up to 256 KiB. Without a valid signature, the
    response does not reveal whether the webhook exists.
    """
    source = source_of(request)
    signature = service.webhooks.signature(request.headers.getlist(HEADER), name, source=source)
    body = await _deliveries.read(request, sender=source, max_bytes=MAX_BODY_BYTES)
    return Delivered.of(await service.webhooks.receive(name, signature, body, source=source))
