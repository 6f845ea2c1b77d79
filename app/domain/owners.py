"""Owners and authors of planning items."""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext


def owner_of(ctx: ToolContext) -> str:
    """Return the user of the call.

    Raises:
        ToolFailed: `no_user`: the call has no user to own tasks or appointments.
    """
    if ctx.user_id is None:
        raise ToolFailed("This requires a user, but the call has none", code="no_user")
    return ctx.user_id


def actor_of(ctx: ToolContext) -> str:
    """Return the author: the agent, or the user if the call has no agent."""
    return ctx.agent_id or ctx.user_id or "unknown"
