"""On whose behalf something is kept."""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext


def owner_of(ctx: ToolContext) -> str:
    """The user of the call.

    Raises:
        ToolFailed: `no_user`: nobody else's tasks or calendar shall take it in.
    """
    if ctx.user_id is None:
        raise ToolFailed("This requires a user, but the call has none", code="no_user")
    return ctx.user_id


def actor_of(ctx: ToolContext) -> str:
    """Who writes: the agent, or the user who called the tool without one."""
    return ctx.agent_id or ctx.user_id or "unknown"
