"""Rights and identity of the user who answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import orjson

from app.api.principal import Principal
from app.core.errors import NotFound
from app.domain.owners import SessionOwner
from app.execution.wait_watcher import WaitKind
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms, Approver
from app.governance.approvals.rights import ApprovalRights

if TYPE_CHECKING:
    from app.agents.session_queries import SessionQueries
    from app.db.tables import ConfirmationRow


def approver_of(principal: Principal, *, edits: bool = False) -> Approver:
    """Return the approver that a principal acts as.

    A principal with a token or a login counts as a person; models never hold either.

    Args:
        edits: the answer replaces the arguments, which requires the right to call tools.

    Raises:
        Forbidden: the principal lacks the scope `approve`, or `tools:call` for an edit.
    """
    principal.require_approver()
    if edits:
        principal.require("tools:call")
    return _identity(principal)


def may_decide(
    approvals: ApprovalRights, principal: Principal, kind: WaitKind, case: ApprovalCase
) -> bool:
    """Return whether the principal may answer a pending request; only an administrator may if
    its owner is unknown.
    """
    if kind == "confirmation":
        return principal.may_approve and approvals.authority(_identity(principal), case) is not None
    if case.owner is None:
        return principal.is_admin
    return principal.holds("chat") and principal.may_enter(case.owner)


class ConfirmationSources(Protocol):
    """What is read to find a confirmation and its approvers. A `Service` is one."""

    @property
    def archive(self) -> SessionQueries: ...
    @property
    def approvals(self) -> ApprovalRights: ...


async def visible_confirmation(
    service: ConfirmationSources, principal: Principal, confirmation_id: str
) -> tuple[ConfirmationRow, SessionOwner]:
    """Return a confirmation that the principal may read, and the owner of its session.

    Raises:
        NotFound: it does not exist, or the principal may neither use its session nor answer it.
    """
    row = await service.archive.confirmation(confirmation_id)
    owner = None
    if row is not None:
        owner = SessionOwner.of(await service.archive.session_row(row.session_id))
    if row is None or owner is None or not _may_read(service, principal, row, owner):
        raise NotFound(
            f"Confirmation {confirmation_id!r} not found", confirmation_id=confirmation_id
        )
    return row, owner


def _may_read(
    service: ConfirmationSources, principal: Principal, row: ConfirmationRow, owner: SessionOwner
) -> bool:
    if principal.may_enter(owner):
        return True
    terms = ApprovalTerms.from_dict(orjson.loads(row.request).get("approval"))
    approver = _identity(principal)
    return service.approvals.authority(approver, ApprovalCase(owner, terms)) is not None


def _identity(principal: Principal) -> Approver:
    return Approver(
        principal.user_id,
        is_admin=principal.is_admin,
        agents=principal.agents,
        projects=principal.projects,
        approves=principal.holds("approve"),
        groups=principal.approver_groups,
    )
