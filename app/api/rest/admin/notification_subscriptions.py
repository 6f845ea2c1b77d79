"""Subscriptions of groups and of everyone to notifications about pending requests."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import After, Limit, start_after
from app.api.rest.body import Body, PathId
from app.api.rest.examples import example
from app.api.rest.headers import MADE, show_place
from app.api.rest.notification_subscriptions import (
    SUBSCRIPTION,
    Address,
    ChannelId,
    Label,
    SubscriptionView,
)
from app.api.rest.routing import routes_of
from app.channels.notifications.subscriptions import SubscriptionInput
from app.core.errors import AlreadyExists, NotFound

router = routes_of("admin", below="/admin")

_ALL: dict[str, Any] = {**SUBSCRIPTION, "audience": "all"}


class AdminSubscriptionPage(BaseModel):
    """Subscriptions of everyone, oldest first."""

    model_config = example(subscriptions=[_ALL], total=1, next_after=None)

    subscriptions: list[SubscriptionView]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewSharedSubscription(Body):
    """Subscription of a group or of all requests to create."""

    model_config = example(
        channel_id="nch_1", audience="all", address="team-topic-6f2a", label="Team"
    )

    channel_id: ChannelId
    audience: Annotated[
        str,
        Field(
            pattern=r"^(all|group:\S.{0,199})$",
            description="`group:ID`, or `all` for every pending request.",
        ),
    ]
    address: Address = ""
    label: Label = ""


@router.get("/notification-subscriptions", summary="List all subscriptions", responses=problems())
async def list_subscriptions(
    service: ServiceDep, principal: Admin, limit: Limit = 100, after: After = None
) -> AdminSubscriptionPage:
    """Scope `admin`. Includes the subscriptions of users, with hints of their addresses."""
    stored = service.notifications.subscriptions.list_all()
    keys = [item.id for item in stored]
    start = start_after(after, keys, "subscription")
    page = stored[start : start + limit]
    more = start + limit < len(stored)
    return AdminSubscriptionPage(
        subscriptions=[await SubscriptionView.of(service, item) for item in page],
        total=len(stored),
        next_after=page[-1].id if more else None,
    )


@router.post(
    "/notification-subscriptions",
    status_code=201,
    summary="Create a shared subscription",
    responses={**MADE, **problems(NotFound, AlreadyExists, body=True)},
)
async def create_subscription(
    body: NewSharedSubscription,
    request: Request,
    response: Response,
    service: ServiceDep,
    principal: Admin,
) -> SubscriptionView:
    """Scope `admin`. It ends with the current token: after that, nothing is sent."""
    made = await service.notifications.subscriptions.create(
        SubscriptionInput(body.channel_id, body.audience, body.address, body.label),
        actor=principal.user_id,
        token_id=principal.token_id,
    )
    show_place(request, response, made.id)
    return await SubscriptionView.of(service, made)


@router.get(
    "/notification-subscriptions/{notification_subscription_id}",
    summary="Get a subscription",
    responses=problems(NotFound),
)
async def get_subscription(
    notification_subscription_id: PathId, service: ServiceDep, principal: Admin
) -> SubscriptionView:
    """Scope `admin`."""
    found = service.notifications.subscriptions.get(notification_subscription_id)
    return await SubscriptionView.of(service, found)


@router.delete(
    "/notification-subscriptions/{notification_subscription_id}",
    summary="Delete a subscription",
    responses=problems(NotFound),
)
async def remove_subscription(
    notification_subscription_id: PathId, service: ServiceDep, principal: Admin
) -> SubscriptionView:
    """Scope `admin`. Returns the deleted subscription, which may be that of a user."""
    gone = await service.notifications.subscriptions.remove(
        notification_subscription_id, actor=principal.user_id
    )
    return await SubscriptionView.of(service, gone)
