"""Owners and authors of sessions and planning items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext


class Owned(Protocol):
    """A session, open or stored: who may see it depends on these."""

    @property
    def user_id(self) -> str: ...

    @property
    def project_id(self) -> str | None: ...

    @property
    def agent_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """What an `Owned` session says of its owner, without the session."""

    user_id: str
    project_id: str | None
    agent_id: str | None

    @classmethod
    def of(cls, session: Owned | None) -> SessionOwner | None:
        if session is None:
            return None
        return cls(session.user_id, session.project_id, session.agent_id)


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
