"""Webhooks: runs that other systems may start, and their owners."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from app.agents.webhooks.model import Webhook
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, Listed, versioned
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import VERSIONED
from app.api.rest.one_time import SHOWN_ONCE
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists, NotFound, VersionMismatch

router = routes_of("admin", below="/admin")
webhooks = Crud(router, "webhooks", "webhook_id")

_WEBHOOK: dict[str, Any] = {
    "id": "whk_1",
    "name": "build-failed",
    "owner": "ann",
    "agent_id": None,
    "project_id": "default",
    "template": "A build has failed. Find out why:\n\n{{body}}",
    "per_minute": 10,
    "paused": "",
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_SECRET = "whsec_shown-once"  # noqa: S105 - an example
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_\-]{0,63}$", description="Part of its URL.")]
Owner = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=r"\S",
        description="Owner of the sessions of its runs; defaults to the caller.",
    ),
]
AgentId = Annotated[Identifier | None, Field(description="Agent that runs it.")]
ProjectId = Annotated[Identifier | None, Field(description="Project it works in.")]
Template = Annotated[
    str,
    Field(
        min_length=1,
        max_length=20_000,
        pattern=r"\S",
        description="Prompt for the agent; `{{body}}` is replaced by the delivery, marked as "
        "external data. Without it, the delivery is appended.",
    ),
]
PerMinute = Annotated[int, Field(ge=1, le=600, description="Accepted signature.")]


class AdminWebhook(BaseModel):
    """A webhook without its secret, which is only shown when it is created or replaced."""

    model_config = example(**_WEBHOOK)

    id: str
    name: str
    owner: str
    agent_id: str | None
    project_id: str | None
    template: str
    per_minute: int
    paused: str = Field(description="Reason why it is paused; empty if it is active.")
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, webhook: Webhook, **more: Any) -> Self:
        return cls(
            id=webhook.id,
            name=webhook.name,
            owner=webhook.owner,
            agent_id=webhook.agent_id,
            project_id=webhook.project_id,
            template=webhook.template,
            per_minute=webhook.per_minute,
            paused=webhook.paused,
            version=webhook.version,
            created_at=webhook.created_at,
            updated_at=webhook.updated_at,
            **more,
        )


class WebhookWithSecret(AdminWebhook):
    """A webhook and its new secret, which is shown only once."""

    model_config = example(**_WEBHOOK, secret=_SECRET)

    secret: str = Field(description="Signing key of deliveries; use the whole text as the key.")


class AdminWebhookPage(BaseModel):
    """Webhooks by name."""

    model_config = example(webhooks=[_WEBHOOK], total=1, next_after=None)

    webhooks: list[AdminWebhook]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewWebhook(Body):
    """Webhook to create."""

    model_config = example(
        name="build-failed", template="A build has failed. Find out why:\n\n{{body}}"
    )

    name: Name
    template: Template
    owner: Owner = unsent()
    agent_id: AgentId = None
    project_id: ProjectId = None
    per_minute: PerMinute = 10


class WebhookChange(Body):
    """Fields to change; omitted fields stay."""

    model_config = example(per_minute=60)

    name: Name = unsent()
    template: Template = unsent()
    owner: Owner = unsent()
    agent_id: AgentId = None
    project_id: ProjectId = None
    per_minute: PerMinute = 10


class WebhookPause(Body):
    """Request to pause or resume a webhook."""

    model_config = example(paused=True)

    paused: bool


@webhooks.page(AdminWebhookPage, "List webhooks")
async def list_webhooks(service: ServiceDep, principal: Admin) -> Listed[Webhook]:
    """Scope `admin`. Secrets are never returned."""
    return Listed(
        {item.name: item for item in service.webhooks.repository.list_all()}, AdminWebhook.of
    )


@webhooks.create("Create a webhook", AlreadyExists, dependencies=SHOWN_ONCE)
async def create_webhook(
    body: NewWebhook, service: ServiceDep, principal: Admin
) -> WebhookWithSecret:
    """Scope `admin`. Only this response contains the secret."""
    fields = body.model_dump() | {"owner": body.owner or principal.user_id}
    made, secret = await service.webhooks.repository.create(
        fields, actor=principal.user_id, token_id=principal.token_id
    )
    return WebhookWithSecret.of(made, secret=secret)


@webhooks.read("Get a webhook")
async def get_webhook(webhook_id: PathId, service: ServiceDep, principal: Admin) -> AdminWebhook:
    """Scope `admin`."""
    return AdminWebhook.of(service.webhooks.repository.get(webhook_id))


@webhooks.change("Update a webhook", AlreadyExists)
async def change_webhook(
    webhook_id: PathId,
    body: WebhookChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminWebhook:
    """Scope `admin`. Changes apply from the next delivery on."""
    changed = await service.webhooks.repository.change(
        webhook_id, body.sent(), actor=principal.user_id, expected=expected
    )
    return AdminWebhook.of(changed)


@router.post(
    "/webhooks/{webhook_id}/pause",
    summary="Pause or resume a webhook",
    responses={**VERSIONED, **problems(NotFound, VersionMismatch, body=True)},
)
@versioned
async def pause_webhook(
    webhook_id: PathId,
    body: WebhookPause,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminWebhook:
    """Scope `admin`. After resuming, its runs count against the limits of the caller's token."""
    changed = await service.webhooks.repository.pause(
        webhook_id,
        paused=body.paused,
        actor=principal.user_id,
        token_id=principal.token_id,
        expected=expected,
    )
    return AdminWebhook.of(changed)


@router.post(
    "/webhooks/{webhook_id}/rotate",
    dependencies=SHOWN_ONCE,
    summary="Replace a webhook's secret",
    responses={**VERSIONED, **problems(NotFound, VersionMismatch)},
)
@versioned
async def rotate_webhook(
    webhook_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> WebhookWithSecret:
    """Scope `admin`. The old secret expires immediately. Only this response has the new one."""
    changed, secret = await service.webhooks.repository.rotate(
        webhook_id, actor=principal.user_id, expected=expected
    )
    return WebhookWithSecret.of(changed, secret=secret)


@webhooks.remove("Delete a webhook")
async def remove_webhook(
    webhook_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminWebhook:
    """Scope `admin`. Returns the deleted webhook. Active runs continue."""
    gone = await service.webhooks.repository.remove(
        webhook_id, actor=principal.user_id, expected=expected
    )
    return AdminWebhook.of(gone)
