"""Approval policies: who answers which requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists
from app.core.ids import new_id
from app.governance.approvals.policies import (
    MAX_QUORUM,
    MAX_STEPS,
    ApprovalPolicy,
    PolicySelector,
    PolicyStep,
)

router = routes_of("admin", below="/admin")
policies = Crud(router, "policies", "policy_id", path="approval-policies")

_SELECTOR: dict[str, Any] = {
    "agents": None,
    "projects": ["shop"],
    "tools": ["bash"],
    "risks": ["high"],
    "owners": None,
}
_STEPS: list[dict[str, Any]] = [
    {"groups": ["payments"], "owner": False, "after_s": 0.0},
    {"groups": ["operations"], "owner": False, "after_s": 900.0},
]
_POLICY: dict[str, Any] = {
    "id": "pol_1",
    "name": "Production shop",
    "position": 10,
    "enabled": True,
    "applies_to": _SELECTOR,
    "steps": _STEPS,
    "quorum": 2,
    "not_requester": True,
    "expires_in_s": 3600.0,
    "context_turns": 3,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
PolicyTitle = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Listing = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]], Field(max_length=200)
]
RiskLevel = Literal["low", "medium", "high", "critical"]


class PolicySelection(Body):
    """Requests that a policy applies to; null matches all."""

    model_config = example(**_SELECTOR)

    agents: Listing | None = Field(
        default=None, description="Agent IDs; `default` for calls without an agent."
    )
    projects: Listing | None = None
    tools: Listing | None = Field(default=None, description="Names, with `*` and `?`.")
    risks: list[RiskLevel] | None = None
    owners: Listing | None = Field(default=None, description="Owners of the sessions.")

    def selector(self) -> PolicySelector:
        fields = self.model_dump()
        return PolicySelector(
            **{name: None if value is None else tuple(value) for name, value in fields.items()}
        )


class PolicyStepInput(Body):
    """Approvers from a time on."""

    model_config = example(**_STEPS[0])

    groups: Listing = Field(default_factory=list, description="IDs of approver groups.")
    owner: bool = Field(default=False, description="The owner of the session may answer too.")
    after_s: float = Field(default=0.0, ge=0, le=31_536_000, description="Seconds.")

    def step(self) -> PolicyStep:
        return PolicyStep(tuple(self.groups), self.owner, self.after_s)


class AdminApprovalPolicy(BaseModel):
    """An approval policy. The first enabled one that applies decides, by position."""

    model_config = example(**_POLICY)

    id: str
    name: str
    position: int
    enabled: bool
    applies_to: PolicySelection
    steps: list[PolicyStepInput]
    quorum: int
    not_requester: bool
    expires_in_s: float | None
    context_turns: int
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, policy: ApprovalPolicy) -> Self:
        return cls(
            **policy.shown(),
            id=policy.id,
            version=policy.version,
            created_at=policy.created_at,
            updated_at=policy.updated_at,
        )


class AdminApprovalPolicyPage(BaseModel):
    """Policies by position."""

    model_config = example(policies=[_POLICY], total=1, next_after=None)

    policies: list[AdminApprovalPolicy]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewApprovalPolicy(Body):
    """Policy to create. Its ID is generated if omitted."""

    model_config = example(
        name="Production shop", applies_to=_SELECTOR, steps=_STEPS, quorum=2, not_requester=True
    )

    id: Identifier | None = None
    name: PolicyTitle
    position: int = Field(default=100, ge=0, le=1_000_000)
    enabled: bool = True
    applies_to: PolicySelection = PolicySelection()
    steps: list[PolicyStepInput] = Field(min_length=1, max_length=MAX_STEPS)
    quorum: int = Field(
        default=1, ge=1, le=MAX_QUORUM, description="Number of different people who must approve."
    )
    not_requester: bool = Field(
        default=False, description="The user who sent the message or call may not answer."
    )
    expires_in_s: float | None = Field(
        default=None,
        ge=0,
        le=31_536_000,
        description="Lifetime of a request in seconds; 0 for no end, null for the setting.",
    )
    context_turns: int = Field(
        default=0, ge=0, le=20, description="Turns of the conversation that approvers may read."
    )


class ApprovalPolicyChange(Body):
    """Fields to change; omitted fields stay. `applies_to` and `steps` are replaced as a whole."""

    model_config = example(enabled=False)

    name: PolicyTitle = unsent()
    position: int = Field(default=100, ge=0, le=1_000_000)
    enabled: bool = True
    applies_to: PolicySelection = PolicySelection()
    steps: list[PolicyStepInput] = Field(default_factory=list, max_length=MAX_STEPS)
    quorum: int = Field(default=1, ge=1, le=MAX_QUORUM)
    not_requester: bool = False
    expires_in_s: float | None = Field(default=None, ge=0, le=31_536_000)
    context_turns: int = Field(default=0, ge=0, le=20)


@policies.page(AdminApprovalPolicyPage, "List approval policies")
async def list_approval_policies(service: ServiceDep, principal: Admin) -> Listed[ApprovalPolicy]:
    """Scope `admin`."""
    # The key is a cursor: it orders by position.
    listed = service.approvals.policies.list_all()
    found = {f"{policy.position:07}.{policy.id}": policy for policy in listed}
    return Listed(found, AdminApprovalPolicy.of)


@policies.create("Create an approval policy", AlreadyExists)
async def create_approval_policy(
    body: NewApprovalPolicy, service: ServiceDep, principal: Admin
) -> AdminApprovalPolicy:
    """Scope `admin`. It applies to requests from now on."""
    made = await service.approvals.policies.create(
        ApprovalPolicy(body.id or new_id("pol"), **_fields(body)), actor=principal.user_id
    )
    return AdminApprovalPolicy.of(made)


@policies.read("Get an approval policy")
async def get_approval_policy(
    policy_id: PathId, service: ServiceDep, principal: Admin
) -> AdminApprovalPolicy:
    """Scope `admin`."""
    return AdminApprovalPolicy.of(service.approvals.policies.get(policy_id))


@policies.change("Update an approval policy", AlreadyExists)
async def change_approval_policy(
    policy_id: PathId,
    body: ApprovalPolicyChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminApprovalPolicy:
    """Scope `admin`. Pending requests keep the terms that they were opened with."""
    changed = await service.approvals.policies.change(
        policy_id, _fields(body, only=body.sent()), actor=principal.user_id, expected=expected
    )
    return AdminApprovalPolicy.of(changed)


@policies.remove("Delete an approval policy")
async def remove_approval_policy(
    policy_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminApprovalPolicy:
    """Scope `admin`. Returns the deleted policy. Pending requests keep its terms."""
    gone = await service.approvals.policies.remove(
        policy_id, actor=principal.user_id, expected=expected
    )
    return AdminApprovalPolicy.of(gone)


def _fields(
    body: NewApprovalPolicy | ApprovalPolicyChange, only: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields of a policy, or those that were sent."""
    fields = {name: getattr(body, name) for name in type(body).model_fields if name != "id"}
    fields["applies_to"] = body.applies_to.selector()
    fields["steps"] = tuple(step.step() for step in body.steps)
    return fields if only is None else {name: fields[name] for name in only}
