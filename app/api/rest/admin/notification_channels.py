"""Channels of notifications about pending requests."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, SecretStr

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.channels.notifications.channel_store import Buttons, NotificationChannel
from app.channels.notifications.sender import ChannelTrouble
from app.channels.notifications.transport import ContentLevel
from app.core.errors import AlreadyExists, NotFound

router = routes_of("admin", below="/admin")
channels = Crud(router, "channels", "notification_channel_id", path="notification-channels")

_HEALTH: dict[str, Any] = {
    "state": "ok",
    "error": None,
    "since": None,
    "pending": 0,
    "oldest_pending": None,
}
_CHANNEL: dict[str, Any] = {
    "id": "nch_1",
    "name": "team-push",
    "kind": "ntfy",
    "settings": {"server": "https://ntfy.sh"},
    "secret_names": ["token"],
    "origin": "https://ntfy.sh",
    "content": "summary",
    "buttons": "none",
    "enabled": True,
    "health": _HEALTH,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_\-]{0,63}$")]
Kind = Annotated[str, Field(min_length=1, max_length=64, description="See docs/notifications.md.")]
KindFields = Annotated[
    dict[str, Any], Field(description="Fields of the kind; unknown fields are refused.")
]
SecretFields = Annotated[
    dict[str, SecretStr],
    Field(max_length=16, description="All secrets of the kind. Their values are write-only."),
]
Content = Annotated[
    ContentLevel,
    Field(
        description="How much of a request its messages contain: only that one waits, a summary, "
        "or also its command or arguments."
    ),
]
ButtonRisk = Annotated[
    Buttons,
    Field(
        description="Highest risk of requests that can be answered in a message; requests of "
        "risk `high` never can."
    ),
]


class ChannelHealth(BaseModel):
    """Whether a channel delivers, since the service started."""

    model_config = example(**_HEALTH)

    state: str = Field(description="`ok`, `failing`, or `disabled`.")
    error: str | None = Field(description="Result of the last attempt, if it failed.")
    since: str | None = Field(description="Time of the first failure in a row.")
    pending: int = Field(description="Messages that wait to be sent.")
    oldest_pending: str | None = Field(description="Time of the oldest of them.")


class AdminNotificationChannel(BaseModel):
    """A channel of notifications, with only the names of its secrets."""

    model_config = example(**_CHANNEL)

    id: str
    name: str
    kind: str
    settings: dict[str, Any]
    secret_names: tuple[str, ...]
    origin: str = Field(description="Where it sends to, without secrets.")
    content: ContentLevel
    buttons: Buttons
    enabled: bool
    health: ChannelHealth
    version: int
    created_at: str
    updated_at: str


class AdminNotificationChannelPage(BaseModel):
    """Channels by name."""

    model_config = example(channels=[_CHANNEL], total=1, next_after=None)

    channels: list[AdminNotificationChannel]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewNotificationChannel(Body):
    """Channel to create."""

    model_config = example(
        name="team-push",
        kind="ntfy",
        settings={"server": "https://ntfy.sh"},
        secrets={"token": "tk_the-secret-of-ntfy"},
    )

    name: Name
    kind: Kind
    settings: KindFields = Field(default_factory=dict)
    secrets: SecretFields = Field(default_factory=dict)
    content: Content = "summary"
    buttons: ButtonRisk = "none"
    enabled: bool = True


class NotificationChannelChange(Body):
    """Fields to change; omitted fields stay. `settings` and `secrets` are replaced as a whole.

    Changing where it sends to requires its secrets again.
    """

    model_config = example(content="none")

    name: Name = unsent()
    settings: KindFields = Field(default_factory=dict)
    secrets: SecretFields = Field(default_factory=dict)
    content: Content = "summary"
    buttons: ButtonRisk = "none"
    enabled: bool = True


class ChannelTest(Body):
    """Address to which a test message is sent."""

    model_config = example(address="my-topic-6f2a")

    address: str = Field(
        default="",
        max_length=2000,
        description="As in a subscription; empty where the channel has one address.",
    )


class ChannelTestResult(BaseModel):
    """Result of a test message."""

    model_config = example(delivered=True, error=None)

    delivered: bool = Field(description="Whether the provider took the message.")
    error: str | None


class _Views:
    """Views of channels with the health of this moment."""

    def __init__(self, service: Service, backlog: dict[str, Any]) -> None:
        self._troubles = {item.channel_id: item for item in service.channel_troubles}
        self._backlog = backlog

    @classmethod
    async def of(cls, service: Service) -> Self:
        return cls(service, await service.notifications.outbox.backlog())

    def view(self, channel: NotificationChannel) -> AdminNotificationChannel:
        """Return the view of a channel."""
        return AdminNotificationChannel(
            id=channel.id,
            name=channel.name,
            kind=channel.kind,
            settings=dict(channel.settings or {}),
            secret_names=channel.secret_names,
            origin=channel.origin,
            content=channel.content,
            buttons=channel.buttons,
            enabled=channel.enabled,
            health=self._health(channel, self._troubles.get(channel.id)),
            version=channel.version,
            created_at=channel.created_at,
            updated_at=channel.updated_at,
        )

    def _health(
        self, channel: NotificationChannel, trouble: ChannelTrouble | None
    ) -> ChannelHealth:
        waiting = self._backlog.get(channel.id)
        state = "disabled" if not channel.enabled else "failing" if trouble else "ok"
        return ChannelHealth(
            state=state,
            error=None if trouble is None else trouble.error,
            since=None if trouble is None else trouble.since,
            pending=0 if waiting is None else waiting.count,
            oldest_pending=None if waiting is None else waiting.oldest,
        )


def _secrets(body: NewNotificationChannel | NotificationChannelChange) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in body.secrets.items()}


@channels.page(AdminNotificationChannelPage, "List notification channels")
async def list_notification_channels(
    service: ServiceDep, principal: Admin
) -> Listed[NotificationChannel]:
    """Scope `admin`. Secrets are never returned."""
    views = await _Views.of(service)
    stored = service.notifications.channels.list_all()
    return Listed({item.name: item for item in stored}, views.view)


@channels.create("Create a notification channel", AlreadyExists)
async def create_notification_channel(
    body: NewNotificationChannel, service: ServiceDep, principal: Admin
) -> AdminNotificationChannel:
    """Scope `admin`. Nothing is sent until there is a subscription."""
    made = await service.notifications.channels.create(
        {
            "name": body.name,
            "kind": body.kind,
            "settings": body.settings,
            "content": body.content,
            "buttons": body.buttons,
            "enabled": body.enabled,
        },
        _secrets(body),
        actor=principal.user_id,
    )
    return (await _Views.of(service)).view(made)


@channels.read("Get a notification channel")
async def get_notification_channel(
    notification_channel_id: PathId, service: ServiceDep, principal: Admin
) -> AdminNotificationChannel:
    """Scope `admin`."""
    found = service.notifications.channels.get(notification_channel_id)
    return (await _Views.of(service)).view(found)


@channels.change("Update a notification channel", AlreadyExists)
async def change_notification_channel(
    notification_channel_id: PathId,
    body: NotificationChannelChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminNotificationChannel:
    """Scope `admin`. Applies from the next message; messages of a disabled channel are dropped."""
    changed = await service.notifications.channels.change(
        notification_channel_id,
        body.sent("secrets"),
        _secrets(body) if "secrets" in body.model_fields_set else None,
        actor=principal.user_id,
        expected=expected,
    )
    return (await _Views.of(service)).view(changed)


@channels.remove("Delete a notification channel")
async def remove_notification_channel(
    notification_channel_id: PathId,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminNotificationChannel:
    """Scope `admin`. Returns the deleted channel; its subscriptions are deleted with it."""
    notifications = service.notifications
    gone = await notifications.channels.remove(
        notification_channel_id, actor=principal.user_id, expected=expected
    )
    await notifications.subscriptions.load()
    return (await _Views.of(service)).view(gone)


@router.post(
    "/notification-channels/{notification_channel_id}/test",
    summary="Send a test message",
    responses=problems(NotFound, body=True),
)
async def test_notification_channel(
    notification_channel_id: PathId, body: ChannelTest, service: ServiceDep, principal: Admin
) -> ChannelTestResult:
    """Scope `admin`. Sends once, without retries, also while the channel is disabled."""
    error = await service.notifications.test(notification_channel_id, body.address)
    return ChannelTestResult(delivered=error is None, error=error)
