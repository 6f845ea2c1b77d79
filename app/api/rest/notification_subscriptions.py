"""The subscriptions of a user to notifications about pending requests."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Depends
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import ServiceDep, SignedIn, dependency
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE, show_place
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.channels.notifications.channel_store import NotificationChannel
from app.channels.notifications.subscriptions import NotificationSubscription, SubscriptionInput
from app.core.errors import AlreadyExists, Forbidden, NotFound

router = routes_of("notifications")

SUBSCRIPTION: dict[str, Any] = {
    "id": "nsb_1",
    "channel_id": "nch_1",
    "channel_name": "team-push",
    "audience": "user:ann",
    "label": "My phone",
    "address_hint": "my…",
    "created_by": "ann",
    "created_at": MOMENT,
    "is_active": True,
    "version": 1,
}
_CHANNEL: dict[str, Any] = {
    "id": "nch_1",
    "name": "team-push",
    "kind": "ntfy",
    "content": "summary",
    "needs_address": True,
}
ChannelId = Annotated[str, Field(min_length=1, max_length=128)]
Address = Annotated[
    str,
    Field(
        max_length=2000,
        description="Where the channel delivers, such as a mail address; write-only. Empty where "
        "the channel has one address.",
    ),
]
Label = Annotated[str, Field(max_length=100, description="Name for people.")]


@dependency
async def answerer(principal: SignedIn) -> Principal:
    """Return the principal if it may answer any pending request.

    Raises:
        Forbidden: it holds neither `approve` or `approve:<group>` nor `chat`.
    """
    if not (principal.may_approve or principal.holds("chat")):
        raise Forbidden("Requires the scope 'approve' or 'chat'", scope="approve")
    return principal


Answerer = Annotated[Principal, Depends(answerer)]


class SubscriptionView(BaseModel):
    """A subscription, with a hint of its address."""

    model_config = example(**SUBSCRIPTION)

    id: str
    channel_id: str
    channel_name: str | None
    audience: str = Field(description="`user:ID`, `group:ID` or `all`.")
    label: str
    address_hint: str = Field(description="Beginning of the address.")
    created_by: str
    created_at: str
    is_active: bool = Field(
        description="False if the channel is disabled, or the token that created it has ended."
    )
    version: int

    @classmethod
    async def of(cls, service: Service, item: NotificationSubscription) -> Self:
        channel = service.notifications.channels.find(item.channel_id)
        rights = await service.authenticator.rights_of(item.created_by, item.token_id)
        return cls(
            id=item.id,
            channel_id=item.channel_id,
            channel_name=None if channel is None else channel.name,
            audience=item.audience,
            label=item.label,
            address_hint=item.hint,
            created_by=item.created_by,
            created_at=item.created_at,
            is_active=channel is not None and channel.enabled and rights is not None,
            version=item.version,
        )


class SubscriptionList(BaseModel):
    """Subscriptions, oldest first."""

    model_config = example(subscriptions=[SUBSCRIPTION])

    subscriptions: list[SubscriptionView]


class OfferedChannel(BaseModel):
    """A channel to which a user may subscribe."""

    model_config = example(**_CHANNEL)

    id: str
    name: str
    kind: str
    content: str = Field(description="`none`, `summary` or `full`.")
    needs_address: bool = Field(description="Whether a subscription must have an address.")

    @classmethod
    def of(cls, service: Service, channel: NotificationChannel) -> Self:
        kind = service.notifications.channels.kinds.get(channel.kind)
        return cls(
            id=channel.id,
            name=channel.name,
            kind=channel.kind,
            content=channel.content,
            needs_address=kind is not None and kind.needs_address,
        )


class OfferedChannelList(BaseModel):
    """Channels by name."""

    model_config = example(channels=[_CHANNEL])

    channels: list[OfferedChannel]


class NewOwnSubscription(Body):
    """Subscription of the current user to create."""

    model_config = example(channel_id="nch_1", address="my-topic-6f2a", label="My phone")

    channel_id: ChannelId
    address: Address = ""
    label: Label = ""


@router.get("/me/notification-channels", summary="List offered channels", responses=problems())
async def list_offered_channels(service: ServiceDep, principal: Answerer) -> OfferedChannelList:
    """Scope `approve` or `chat`. Enabled channels, without their settings."""
    stored = service.notifications.channels.list_all()
    return OfferedChannelList(
        channels=[OfferedChannel.of(service, item) for item in stored if item.enabled]
    )


@router.get(
    "/me/notification-subscriptions", summary="List own subscriptions", responses=problems()
)
async def list_own_subscriptions(service: ServiceDep, principal: Answerer) -> SubscriptionList:
    """Scope `approve` or `chat`."""
    own = service.notifications.subscriptions.of_user(principal.user_id)
    return SubscriptionList(
        subscriptions=[await SubscriptionView.of(service, item) for item in own]
    )


@router.post(
    "/me/notification-subscriptions",
    status_code=201,
    summary="Subscribe to notifications",
    responses={**MADE, **problems(NotFound, AlreadyExists, body=True)},
)
async def create_own_subscription(
    body: NewOwnSubscription,
    request: Request,
    response: Response,
    service: ServiceDep,
    principal: Answerer,
) -> SubscriptionView:
    """Scope `approve` or `chat`. Notifies of pending requests that the current token may answer.

    It ends with the token: after that, nothing is sent.
    """
    made = await service.notifications.subscriptions.create(
        SubscriptionInput(body.channel_id, f"user:{principal.user_id}", body.address, body.label),
        actor=principal.user_id,
        token_id=principal.token_id,
    )
    show_place(request, response, made.id)
    return await SubscriptionView.of(service, made)


@router.get(
    "/me/notification-subscriptions/{notification_subscription_id}",
    summary="Get an own subscription",
    responses=problems(NotFound),
)
async def get_own_subscription(
    notification_subscription_id: PathId, service: ServiceDep, principal: Answerer
) -> SubscriptionView:
    """Scope `approve` or `chat`."""
    found = service.notifications.subscriptions.get(
        notification_subscription_id, user_id=principal.user_id
    )
    return await SubscriptionView.of(service, found)


@router.delete(
    "/me/notification-subscriptions/{notification_subscription_id}",
    summary="Unsubscribe from notifications",
    responses=problems(NotFound),
)
async def remove_own_subscription(
    notification_subscription_id: PathId, service: ServiceDep, principal: Answerer
) -> SubscriptionView:
    """Scope `approve` or `chat`. Returns the deleted subscription."""
    gone = await service.notifications.subscriptions.remove(
        notification_subscription_id, actor=principal.user_id, user_id=principal.user_id
    )
    return await SubscriptionView.of(service, gone)
