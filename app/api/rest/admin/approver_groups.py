"""Groups of approvers."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists, Conflict
from app.core.ids import new_id
from app.governance.approvals.groups import MAX_MEMBERS, ApproverGroup

router = routes_of("admin", below="/admin")
groups = Crud(router, "groups", "group_id", path="approver-groups")

_GROUP: dict[str, Any] = {
    "id": "payments",
    "name": "Payments",
    "members": ["ann", "bob"],
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
GroupTitle = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
UserName = Annotated[str, Field(min_length=1, max_length=64)]


class AdminApproverGroup(BaseModel):
    """A group of approvers. Tokens with the scope `approve:<id>` belong to it too."""

    model_config = example(**_GROUP)

    id: str
    name: str
    members: list[str] = Field(description="User IDs; each needs a token with `approve`.")
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, group: ApproverGroup) -> Self:
        return cls(
            id=group.id,
            name=group.name,
            members=list(group.members),
            version=group.version,
            created_at=group.created_at,
            updated_at=group.updated_at,
        )


class AdminApproverGroupPage(BaseModel):
    """Groups by ID."""

    model_config = example(groups=[_GROUP], total=1, next_after=None)

    groups: list[AdminApproverGroup]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewApproverGroup(Body):
    """Group to create. Its ID is generated if omitted."""

    model_config = example(id="payments", name="Payments", members=["ann", "bob"])

    id: Identifier | None = None
    name: GroupTitle
    members: list[UserName] = Field(default_factory=list, max_length=MAX_MEMBERS)


class ApproverGroupChange(Body):
    """Fields to change; omitted fields stay. `members` is replaced as a whole."""

    model_config = example(members=["ann"])

    name: GroupTitle = unsent()
    members: list[UserName] = Field(default_factory=list, max_length=MAX_MEMBERS)


@groups.page(AdminApproverGroupPage, "List approver groups")
async def list_approver_groups(service: ServiceDep, principal: Admin) -> Listed[ApproverGroup]:
    """Scope `admin`."""
    found = {group.id: group for group in service.approvals.groups.list_all()}
    return Listed(found, AdminApproverGroup.of)


@groups.create("Create an approver group", AlreadyExists)
async def create_approver_group(
    body: NewApproverGroup, service: ServiceDep, principal: Admin
) -> AdminApproverGroup:
    """Scope `admin`. Approval policies name the group by its ID."""
    made = await service.approvals.groups.create(
        body.id or new_id("grp"), name=body.name, members=body.members, actor=principal.user_id
    )
    return AdminApproverGroup.of(made)


@groups.read("Get an approver group")
async def get_approver_group(
    group_id: PathId, service: ServiceDep, principal: Admin
) -> AdminApproverGroup:
    """Scope `admin`."""
    return AdminApproverGroup.of(service.approvals.groups.get(group_id))


@groups.change("Update an approver group")
async def change_approver_group(
    group_id: PathId,
    body: ApproverGroupChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminApproverGroup:
    """Scope `admin`. Pending requests follow at once."""
    changed = await service.approvals.groups.change(
        group_id, body.sent(), actor=principal.user_id, expected=expected
    )
    return AdminApproverGroup.of(changed)


@groups.remove("Delete an approver group", Conflict)
async def remove_approver_group(
    group_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminApproverGroup:
    """Scope `admin`. Returns the deleted group. Refused while an approval policy names it."""
    gone = await service.approvals.groups.remove(
        group_id, actor=principal.user_id, expected=expected
    )
    return AdminApproverGroup.of(gone)
