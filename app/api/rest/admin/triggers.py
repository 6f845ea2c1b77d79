"""Named triggers: requests that agents may send by their names."""

from __future__ import annotations

from typing import Annotated, Any, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, Field, SecretStr
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.versions import ExpectedVersion, show_version
from app.api.rest.body import Body, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE_VERSIONED, VERSIONED, show_place
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists, NotFound, VersionMismatch
from app.knowledge.outbound_requests.model import OutboundRequest
from app.knowledge.outbound_requests.store import OutboundRequestChange
from app.tools.automation.outbound_ports import Method

router = routes_of("admin", below="/admin")

_TRIGGER: dict[str, Any] = {
    "id": "trg_1",
    "name": "deploy",
    "method": "POST",
    "origin": "https://ci.example.org",
    "header_names": ["Authorization"],
    "body": {"branch": "main"},
    "body_from_call": False,
    "free": False,
    "agents": ["*"],
    "enabled": True,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_\-]{0,63}$")]
Url = Annotated[
    SecretStr,
    Field(
        min_length=1,
        max_length=8000,
        description="Target URL. Later responses only show its origin.",
    ),
]
Headers = Annotated[
    dict[str, Annotated[SecretStr, Field(max_length=4096)]],
    Field(max_length=32, description="All headers. Their values are write-only."),
]
Agents = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    Field(max_length=100, description="IDs of agents that may use it; `*` is every agent."),
]
JsonBody = Annotated[
    dict[str, Any] | None, Field(description="JSON to send; visible to administrators.")
]
FromCall = Annotated[bool, Field(description="Whether a call may send a different body.")]
Free = Annotated[bool, Field(description="Whether it runs without approval.")]


class AdminTrigger(BaseModel):
    """A named trigger. What it shows to the other system is not shown here."""

    model_config = example(**_TRIGGER)

    id: str
    name: str
    method: Method
    origin: str
    header_names: tuple[str, ...]
    body: dict[str, Any] | None
    body_from_call: bool
    free: bool
    agents: tuple[str, ...]
    enabled: bool
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, trigger: OutboundRequest) -> Self:
        return cls(
            id=trigger.id,
            name=trigger.name,
            method=trigger.method,
            origin=trigger.origin,
            header_names=trigger.header_names,
            body=None if trigger.body is None else orjson.loads(trigger.body),
            body_from_call=trigger.body_from_call,
            free=trigger.free,
            agents=trigger.agents,
            enabled=trigger.enabled,
            version=trigger.version,
            created_at=trigger.created_at,
            updated_at=trigger.updated_at,
        )


class AdminTriggerPage(BaseModel):
    """Triggers by name."""

    model_config = example(triggers=[_TRIGGER], total=1, next_after=None)

    triggers: list[AdminTrigger]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewTrigger(Body):
    """A request that agents may send by its name."""

    model_config = example(
        name="deploy",
        url="https://ci.example.org/hooks/deploy",
        headers={"Authorization": "Bearer the-secret-of-ci"},
        body={"branch": "main"},
        agents=["*"],
    )

    name: Name
    url: Url
    method: Method = "POST"
    headers: Headers = Field(default_factory=dict)
    body: JsonBody = None
    body_from_call: FromCall = False
    free: Free = False
    agents: Agents = Field(default_factory=list)
    enabled: bool = True


class TriggerChange(Body):
    """What shall change; what is missing stays. Another host needs its headers anew."""

    model_config = example(free=True)

    name: Name = unsent()
    url: Url = unsent(SecretStr(""))
    method: Method = "POST"
    headers: Headers = Field(default_factory=dict)
    body: JsonBody = None
    body_from_call: FromCall = False
    free: Free = False
    agents: Agents = Field(default_factory=list)
    enabled: bool = True


def _change(body: NewTrigger | TriggerChange) -> OutboundRequestChange:
    """What was given."""
    given = body.model_fields_set
    fields = {name: getattr(body, name) for name in given - {"url", "headers"}}
    if "agents" in fields:
        fields["agents"] = tuple(fields["agents"])
    if fields.get("body") is not None:
        fields["body"] = orjson.dumps(fields["body"]).decode()
    headers = {name: value.get_secret_value() for name, value in body.headers.items()}
    return OutboundRequestChange(
        fields,
        body.url.get_secret_value() if "url" in given else None,
        headers if "headers" in given else None,
    )


@router.get("/triggers", summary="List named triggers", responses=problems())
async def list_triggers(
    service: ServiceDep,
    principal: Admin,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> AdminTriggerPage:
    """Scope `admin`. Addresses and values of headers are never shown."""
    triggers = service.gate.triggers.store.list_all()
    rest = [item for item in triggers if after is None or item.name > after]
    page = rest[:limit]
    return AdminTriggerPage(
        triggers=[AdminTrigger.of(item) for item in page],
        total=len(triggers),
        next_after=page[-1].name if len(rest) > limit else None,
    )


@router.post(
    "/triggers",
    status_code=201,
    summary="Create a named trigger",
    responses={**MADE_VERSIONED, **problems(AlreadyExists, body=True)},
)
async def create_trigger(
    body: NewTrigger, service: ServiceDep, principal: Admin, request: Request, response: Response
) -> AdminTrigger:
    """Scope `admin`. Its address may be anywhere, also in a private network."""
    made = await service.gate.triggers.store.create(_change(body), actor=principal.user_id)
    show_place(request, response, made.id)
    return _shown(made, response)


@router.get(
    "/triggers/{trigger_id}",
    summary="Get a named trigger",
    responses={**VERSIONED, **problems(NotFound)},
)
async def get_trigger(
    trigger_id: PathId, service: ServiceDep, principal: Admin, response: Response
) -> AdminTrigger:
    """Scope `admin`."""
    return _shown(service.gate.triggers.store.get(trigger_id), response)


@router.patch(
    "/triggers/{trigger_id}",
    summary="Update a named trigger",
    responses={**VERSIONED, **problems(NotFound, AlreadyExists, VersionMismatch, body=True)},
)
async def change_trigger(
    trigger_id: PathId,
    body: TriggerChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
    response: Response,
) -> AdminTrigger:
    """Scope `admin`. It counts from the next call on; `enabled` of false pauses it."""
    changed = await service.gate.triggers.store.change(
        trigger_id, _change(body), actor=principal.user_id, expected=expected
    )
    return _shown(changed, response)


@router.delete(
    "/triggers/{trigger_id}",
    summary="Delete a named trigger",
    responses=problems(NotFound, VersionMismatch),
)
async def remove_trigger(
    trigger_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminTrigger:
    """Scope `admin`. What it was."""
    store = service.gate.triggers.store
    gone = store.get(trigger_id)
    await store.remove(trigger_id, actor=principal.user_id, expected=expected)
    return AdminTrigger.of(gone)


def _shown(trigger: OutboundRequest, response: Response) -> AdminTrigger:
    show_version(response, trigger.version)
    return AdminTrigger.of(trigger)
