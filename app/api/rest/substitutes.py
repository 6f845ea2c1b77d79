"""Substitutes: users who answer confirmations for others, for a limited time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, Field, Strict
from starlette.requests import Request
from starlette.responses import Response

from app.api.approvers import approver_of
from app.api.deps import Admin, Approver, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE, show_place
from app.api.rest.routing import routes_of
from app.core.clock import stamp
from app.core.errors import Conflict, Forbidden, NotFound
from app.governance.approvals.substitutes import Substitution

router = routes_of("confirmations")
_SUBSTITUTION = {
    "id": "sub_1",
    "user_id": "ann",
    "substitute_id": "bob",
    "note": "Holidays",
    "starts_at": MOMENT,
    "ends_at": MOMENT,
    "active": True,
    "created_by": "ann",
    "created_at": MOMENT,
}
Moment = Annotated[AwareDatetime, Strict(strict=False)]
UserId = Annotated[str, Field(min_length=1, max_length=64)]


class SubstitutionView(BaseModel):
    """A user answers confirmations for another."""

    model_config = example(**_SUBSTITUTION)

    id: str
    user_id: str = Field(description="User whose requests the substitute may answer.")
    substitute_id: str
    note: str
    starts_at: str
    ends_at: str
    active: bool = Field(description="Whether it is in effect now.")
    created_by: str
    created_at: str
    revoked_at: str | None = None
    revoked_by: str | None = None

    @classmethod
    def of(cls, item: Substitution, now: float) -> Self:
        return cls(
            id=item.id,
            user_id=item.user_id,
            substitute_id=item.substitute_id,
            note=item.note,
            starts_at=stamp(item.starts_at),
            ends_at=stamp(item.ends_at),
            active=item.is_active(now),
            created_by=item.created_by,
            created_at=item.created_at,
            revoked_at=item.revoked_at,
            revoked_by=item.revoked_by,
        )


class SubstitutionList(BaseModel):
    """Substitutions that are in effect or planned."""

    model_config = example(substitutions=[_SUBSTITUTION])

    substitutions: list[SubstitutionView]


class NewSubstitution(Body):
    """Substitute to name. Times are RFC 3339 with an offset."""

    model_config = example(substitute_id="bob", ends_at=MOMENT, note="Holidays")

    substitute_id: UserId
    starts_at: Moment | None = Field(default=None, description="Now if omitted.")
    ends_at: Moment
    note: str = Field(default="", max_length=500)


class NewUserSubstitution(NewSubstitution):
    """Substitute to name for another user."""

    model_config = example(user_id="ann", substitute_id="bob", ends_at=MOMENT)

    user_id: UserId


@router.get("/me/substitutes", summary="List own substitutes", responses=problems())
async def list_substitutes(service: ServiceDep, principal: Approver) -> SubstitutionList:
    """Scope `approve`. Your substitutes, and the users whose substitute you are."""
    now = service.clock.time()
    found = service.approvals.substitutes.list_current(principal.user_id)
    return SubstitutionList(substitutions=[SubstitutionView.of(item, now) for item in found])


@router.post(
    "/me/substitutes",
    status_code=201,
    summary="Name a substitute",
    responses={**MADE, **problems(Conflict, Forbidden, body=True)},
)
async def create_substitute(
    body: NewSubstitution,
    request: Request,
    response: Response,
    service: ServiceDep,
    principal: Approver,
) -> SubstitutionView:
    """Scope `approve`. The substitute may answer what you may, with a token of their own.

    Rights as an administrator are not passed on. Your answer and your substitute's count as one.
    """
    if not approver_of(principal).approves:
        raise Forbidden("Requires the scope 'approve'", scope="approve")
    made = await _create(service, body, principal.user_id, principal.user_id)
    show_place(request, response, made.id)
    return made


@router.delete(
    "/me/substitutes/{substitution_id}",
    summary="Revoke an own substitute",
    responses=problems(NotFound, Conflict),
)
async def revoke_substitute(
    substitution_id: PathId, service: ServiceDep, principal: Approver
) -> SubstitutionView:
    """Scope `approve`. Both users may end it, at once."""
    ended = await service.approvals.substitutes.revoke(
        substitution_id, actor=principal.user_id, only_of=principal.user_id
    )
    return SubstitutionView.of(ended, service.clock.time())


@router.get("/admin/substitutes", summary="List substitutes", responses=problems())
async def list_all_substitutes(service: ServiceDep, _: Admin) -> SubstitutionList:
    """Scope `admin`. Those of all users."""
    now = service.clock.time()
    found = service.approvals.substitutes.list_current()
    return SubstitutionList(substitutions=[SubstitutionView.of(item, now) for item in found])


@router.post(
    "/admin/substitutes",
    status_code=201,
    summary="Name a substitute for a user",
    responses={**MADE, **problems(Conflict, body=True)},
)
async def create_user_substitute(
    body: NewUserSubstitution,
    request: Request,
    response: Response,
    service: ServiceDep,
    principal: Admin,
) -> SubstitutionView:
    """Scope `admin`."""
    made = await _create(service, body, body.user_id, principal.user_id)
    show_place(request, response, made.id)
    return made


@router.delete(
    "/admin/substitutes/{substitution_id}",
    summary="Revoke a substitute",
    responses=problems(NotFound, Conflict),
)
async def revoke_user_substitute(
    substitution_id: PathId, service: ServiceDep, principal: Admin
) -> SubstitutionView:
    """Scope `admin`. Ends it at once."""
    ended = await service.approvals.substitutes.revoke(substitution_id, actor=principal.user_id)
    return SubstitutionView.of(ended, service.clock.time())


async def _create(
    service: ServiceDep, body: NewSubstitution, user_id: str, actor: str
) -> SubstitutionView:
    made = await service.approvals.substitutes.create(
        user_id,
        body.substitute_id,
        starts_at=_seconds(body.starts_at),
        ends_at=body.ends_at.timestamp(),
        note=body.note,
        actor=actor,
    )
    return SubstitutionView.of(made, service.clock.time())


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
