"""Whom the delegation tools ask."""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext
from app.tools.delegation.ports import DELEGATION, Delegation


def delegation_of(ctx: ToolContext) -> Delegation:
    """The service.

    Raises:
        ToolFailed: there is none here.
    """
    return ctx.services.require(DELEGATION, Delegation)  # type: ignore[type-abstract]


def session_of(ctx: ToolContext) -> str:
    """The caller's session; without one there is nothing that it may see or stop.

    Raises:
        ToolFailed: the call belongs to no session.
    """
    if ctx.session_id is None:
        raise ToolFailed("Sub-agents require a session, but this call has none")
    return ctx.session_id
