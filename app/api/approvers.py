"""Identity of the user who answers a confirmation."""

from __future__ import annotations

from app.api.principal import Principal
from app.execution.confirmation.answers import Approver


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
