"""Channels through which agents may write to groups."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.channels.config import ChannelKind
from app.channels.store import Channel
from app.core.errors import AlreadyExists
from app.core.ids import new_id

router = routes_of("admin", below="/admin")
channels = Crud(router, "channels", "channel_id")

_CONFIG: dict[str, Any] = {
    "weixinReply": {"enabled": True, "targets": ["Support"], "watermark": "suffix"}
}
_CHANNEL: dict[str, Any] = {
    "id": "support",
    "name": "Support desk",
    "kind": "weixin",
    "config": _CONFIG,
    "enabled": True,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class AdminChannel(BaseModel):
    """A channel; `config.weixinReply` configures what agents may send through it."""

    model_config = example(**_CHANNEL)

    id: str
    name: str
    kind: ChannelKind
    config: dict[str, Any]
    enabled: bool
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, channel: Channel) -> Self:
        return cls(
            id=channel.id,
            name=channel.name,
            kind=channel.kind,
            config=channel.config.to_json(),
            enabled=channel.enabled,
            version=channel.version,
            created_at=channel.created_at,
            updated_at=channel.updated_at,
        )


class AdminChannelPage(BaseModel):
    """Channels by ID."""

    model_config = example(channels=[_CHANNEL], total=1, next_after=None)

    channels: list[AdminChannel]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewChannel(Body):
    """Channel to create. Its ID is generated if omitted."""

    model_config = example(id="support", name="Support desk", kind="weixin", config=_CONFIG)

    id: Identifier | None = None
    name: Name
    kind: ChannelKind
    config: dict[str, Any] = Field(default_factory=dict, description="As `AdminChannel.config`.")
    enabled: bool = True


class ChannelChange(Body):
    """Fields to change; omitted fields stay. `config` is replaced as a whole."""

    model_config = example(enabled=False)

    name: Name = unsent()
    config: dict[str, Any] = Field(default_factory=dict)
    enabled: bool = True


@channels.page(AdminChannelPage, "List channels")
async def list_channels(service: ServiceDep, principal: Admin) -> Listed[Channel]:
    """Scope `admin`."""
    return Listed({item.id: item for item in service.channels.store.list_all()}, AdminChannel.of)


@channels.create("Create a channel", AlreadyExists)
async def create_channel(body: NewChannel, service: ServiceDep, principal: Admin) -> AdminChannel:
    """Scope `admin`. Nothing is sent until `config.weixinReply.enabled` is true."""
    made = await service.channels.store.create(
        body.id or new_id("chn"),
        name=body.name,
        kind=body.kind,
        config=body.config,
        enabled=body.enabled,
        actor=principal.user_id,
    )
    return AdminChannel.of(made)


@channels.read("Get a channel")
async def get_channel(channel_id: PathId, service: ServiceDep, principal: Admin) -> AdminChannel:
    """Scope `admin`."""
    return AdminChannel.of(service.channels.store.get(channel_id))


@channels.change("Update a channel")
async def change_channel(
    channel_id: PathId,
    body: ChannelChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminChannel:
    """Scope `admin`. With `autoReply`, texts are sent without approval."""
    changed = await service.channels.store.change(
        channel_id, body.sent(), actor=principal.user_id, expected=expected
    )
    return AdminChannel.of(changed)


@channels.remove("Delete a channel")
async def remove_channel(
    channel_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminChannel:
    """Scope `admin`. Returns the deleted channel. Finished tasks stay; waiting ones never run."""
    gone = await service.channels.store.remove(
        channel_id, actor=principal.user_id, expected=expected
    )
    return AdminChannel.of(gone)
