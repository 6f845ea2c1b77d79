"""Rights and identity of the user who answers a request."""

from __future__ import annotations

from app.api.principal import Principal
from app.domain.owners import SessionOwner
from app.execution.confirmation.answers import Approver
from app.execution.wait_watcher import WaitKind


def approver_of(principal: Principal, *, edits: bool = False) -> Approver:
    """Return the approver that a principal acts as.

    A principal with a token or a login counts as a person; models never hold either.

    Args:
        edits: the answer replaces the arguments, which requires the right to call tools.

    Raises:
        Forbidden: the principal lacks the scope `approve`, or `tools:call` for an edit.
    """
    principal.require("approve")
    if edits:
        principal.require("tools:call")
    return Approver(principal.user_id, is_admin=principal.is_admin, agents=principal.agents)


def may_decide(principal: Principal, kind: WaitKind, owner: SessionOwner | None) -> bool:
    """Return whether the principal may answer a pending request; only an administrator may if
    its owner is unknown.
    """
    scope = "approve" if kind == "confirmation" else "chat"
    if owner is None:
        return principal.is_admin
    return principal.holds(scope) and principal.may_enter(owner)
