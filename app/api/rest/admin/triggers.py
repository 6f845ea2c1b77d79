"""Named triggers: outbound requests that agents may send by name."""

from __future__ import annotations

from typing import Annotated, Any, Self

import orjson
from pydantic import BaseModel, Field, SecretStr

from app.api.deps import Admin, ServiceDep
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists
from app.domain.outbound_requests import Method
from app.knowledge.outbound_requests.model import OutboundRequest
from app.knowledge.outbound_requests.store import OutboundRequestChange

router = routes_of("admin", below="/admin")
triggers = Crud(router, "triggers", "trigger_id")

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
    """A named trigger, with only the origin of its URL and the names of its headers."""

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
    """Named trigger to create."""

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
    """Fields to change; omitted fields stay. Changing the host requires new headers."""

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
    """Return the submitted fields."""
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


@triggers.page(AdminTriggerPage, "List named triggers")
async def list_triggers(service: ServiceDep, principal: Admin) -> Listed[OutboundRequest]:
    """Scope `admin`. Only origins of URLs and names of headers are returned."""
    return Listed({item.name: item for item in service.triggers.store.list_all()}, AdminTrigger.of)


@triggers.create("Create a named trigger", AlreadyExists)
async def create_trigger(body: NewTrigger, service: ServiceDep, principal: Admin) -> AdminTrigger:
    """Scope `admin`. Its URL may be in any network, even a private one."""
    store = service.triggers.store
    return AdminTrigger.of(await store.create(_change(body), actor=principal.user_id))


@triggers.read("Get a named trigger")
async def get_trigger(trigger_id: PathId, service: ServiceDep, principal: Admin) -> AdminTrigger:
    """Scope `admin`."""
    return AdminTrigger.of(service.triggers.store.get(trigger_id))


@triggers.change("Update a named trigger", AlreadyExists)
async def change_trigger(
    trigger_id: PathId,
    body: TriggerChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminTrigger:
    """Scope `admin`. Changes apply from the next call on; set `enabled` to false to pause it."""
    changed = await service.triggers.store.change(
        trigger_id, _change(body), actor=principal.user_id, expected=expected
    )
    return AdminTrigger.of(changed)


@triggers.remove("Delete a named trigger")
async def remove_trigger(
    trigger_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminTrigger:
    """Scope `admin`. Returns the deleted trigger."""
    gone = await service.triggers.store.remove(
        trigger_id, actor=principal.user_id, expected=expected
    )
    return AdminTrigger.of(gone)
