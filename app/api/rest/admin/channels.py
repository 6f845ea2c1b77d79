"""Channels: which groups agents may write to, and how."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.versions import ExpectedVersion, show_version
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE_VERSIONED, VERSIONED, show_place
from app.api.rest.routing import routes_of
from app.channels.config import ChannelKind
from app.channels.store import Channel
from app.core.errors import AlreadyExists, NotFound, VersionMismatch
from app.core.ids import new_id

router = routes_of("admin", below="/admin")

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
    """A channel; `config.weixinReply` says what agents may send through it."""

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
    """Channels by id."""

    model_config = example(channels=[_CHANNEL], total=1, next_after=None)

    channels: list[AdminChannel]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewChannel(Body):
    """A channel. Without an id it gets one."""

    model_config = example(id="support", name="Support desk", kind="weixin", config=_CONFIG)

    id: Identifier | None = None
    name: Name
    kind: ChannelKind
    config: dict[str, Any] = Field(default_factory=dict, description="As `AdminChannel.config`.")
    enabled: bool = True


class ChannelChange(Body):
    """What shall change; what is missing stays. A `config` replaces the whole one."""

    model_config = example(enabled=False)

    name: Name = unsent()
    config: dict[str, Any] = Field(default_factory=dict)
    enabled: bool = True


@router.get("/channels", summary="List channels", responses=problems())
async def list_channels(
    service: ServiceDep,
    principal: Admin,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> AdminChannelPage:
    """Scope `admin`."""
    channels = service.gate.channels.store.list_all()
    rest = [item for item in channels if after is None or item.id > after]
    page = rest[:limit]
    return AdminChannelPage(
        channels=[AdminChannel.of(item) for item in page],
        total=len(channels),
        next_after=page[-1].id if len(rest) > limit else None,
    )


@router.post(
    "/channels",
    status_code=201,
    summary="Create a channel",
    responses={**MADE_VERSIONED, **problems(AlreadyExists, body=True)},
)
async def create_channel(
    body: NewChannel,
    service: ServiceDep,
    principal: Admin,
    request: Request,
    response: Response,
) -> AdminChannel:
    """Scope `admin`. Nothing is sent until `config.weixinReply.enabled` is true."""
    made = await service.gate.channels.store.create(
        body.id or new_id("chn"),
        name=body.name,
        kind=body.kind,
        config=body.config,
        enabled=body.enabled,
        actor=principal.user_id,
    )
    show_place(request, response, made.id)
    return _shown(made, response)


@router.get(
    "/channels/{channel_id}",
    summary="Get a channel",
    responses={**VERSIONED, **problems(NotFound)},
)
async def get_channel(
    channel_id: PathId, service: ServiceDep, principal: Admin, response: Response
) -> AdminChannel:
    """Scope `admin`."""
    return _shown(service.gate.channels.store.get(channel_id), response)


@router.patch(
    "/channels/{channel_id}",
    summary="Update a channel",
    responses={**VERSIONED, **problems(NotFound, VersionMismatch, body=True)},
)
async def change_channel(
    channel_id: PathId,
    body: ChannelChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
    response: Response,
) -> AdminChannel:
    """Scope `admin`. With `autoReply` nobody is asked before a text is sent."""
    fields = {name: getattr(body, name) for name in body.model_fields_set}
    changed = await service.gate.channels.store.change(
        channel_id, fields, actor=principal.user_id, expected=expected
    )
    return _shown(changed, response)


@router.delete(
    "/channels/{channel_id}",
    summary="Delete a channel",
    responses=problems(NotFound, VersionMismatch),
)
async def remove_channel(
    channel_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminChannel:
    """Scope `admin`. What it was. Its finished tasks stay; those that wait are given to nobody."""
    store = service.gate.channels.store
    gone = store.get(channel_id)
    await store.remove(channel_id, actor=principal.user_id, expected=expected)
    return AdminChannel.of(gone)


def _shown(channel: Channel, response: Response) -> AdminChannel:
    show_version(response, channel.version)
    return AdminChannel.of(channel)
