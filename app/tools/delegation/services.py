"""Service lookup of the delegation tools."""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.domain.delegation import DELEGATION, Delegation
from app.toolkit.context import ToolContext


def delegation_of(ctx: ToolContext) -> Delegation:
    """Return the service.

    Raises:
        ToolFailed: it is not available.
    """
    return ctx.services.require(DELEGATION, Delegation)  # type: ignore[type-abstract]


def session_of(ctx: ToolContext) -> str:
    """Return the caller's session; without one, no task may be seen or stopped.

    Raises:
        ToolFailed: the call belongs to no session.
    """
    if ctx.session_id is None:
        raise ToolFailed("Sub-agents require a session, but this call has none")
    return ctx.session_id
