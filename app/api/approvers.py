"""Identity of the user who answers a confirmation, in the form that the gate expects."""

from __future__ import annotations

from app.api.principal import Principal
from app.execution.confirmation.answers import Approver


def approver_of(principal: Principal, *, edits: bool = False) -> Approver:
    """Whoever holds a token or a login is a person; what a model drives never holds one.

    Args:
        edits: the answer brings arguments of its own, which is as much as calling the tool.
    """
    principal.require("approve")
    if edits:
        principal.require("tools:call")
    return Approver(principal.user_id, is_admin=principal.is_admin, agents=principal.agents)
