"""Memory scopes of a call, determined by the call; a model only selects among these."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.errors import ToolFailed
from app.domain.memory import MEMORY, AgentMemory, MemoryAuthor, MemoryScope, Scope
from app.toolkit.context import ToolContext
from app.toolkit.services import Services

SHARED: frozenset[Scope] = frozenset({"agent", "project"})
"""Scopes whose memory other users can read."""
_NO_CHANNEL = "direct"
_MAX_SOURCE = 64


def memory_of(ctx: ToolContext) -> AgentMemory:
    """Return the service.

    Raises:
        ToolFailed: it is not available in this process.
    """
    return ctx.services.require(MEMORY, AgentMemory)  # type: ignore[type-abstract]


def place_of(ctx: ToolContext, scope: Scope) -> MemoryScope:
    """Return the caller's scope of a kind.

    Raises:
        ToolFailed: `scope_unavailable`: the call has no such identity.
    """
    owner = _owners(ctx)[scope]
    if not owner:
        others = ", ".join(place.scope for place in _places(ctx)) or "none"
        raise ToolFailed(
            f"scope {scope!r} requires a call with {scope}_id, but this one has none; "
            f"scopes of this call: {others}",
            code="scope_unavailable",
            scope=scope,
        )
    return MemoryScope(scope, owner)


def places_of(ctx: ToolContext, scope: Scope | None) -> Sequence[MemoryScope]:
    """Return one scope of the call, or with None all of them.

    Raises:
        ToolFailed: `scope_unavailable`.
    """
    if scope is not None:
        return [place_of(ctx, scope)]
    places = _places(ctx)
    if not places:
        raise ToolFailed(
            "Memory requires a call with user_id, agent_id or project_id, but this one has none",
            code="scope_unavailable",
        )
    return places


def writer_of(ctx: ToolContext) -> MemoryAuthor:
    """Return the author and channel of a memory. The user is recorded, but never part of a line."""
    channel = ctx.business.get("channelId") or ctx.business.get("channel") or ctx.agent_id
    source = " ".join(str(channel or _NO_CHANNEL).replace("|", "/").split())[:_MAX_SOURCE]
    return MemoryAuthor(source or _NO_CHANNEL, ctx.user_id, ctx.agent_id, ctx.session_id)


def why_sharing_asks(scope: Scope, services: Services) -> str | None:
    """Return why a change in this scope needs approval, or None."""
    memory = services.get(MEMORY)
    if scope in SHARED and isinstance(memory, AgentMemory) and memory.asks_before_sharing:
        return f"It changes memory shared with every user of this {scope}"
    return None


def _owners(ctx: ToolContext) -> dict[Scope, str | None]:
    return {"user": ctx.user_id, "agent": ctx.agent_id, "project": ctx.project_id}


def _places(ctx: ToolContext) -> list[MemoryScope]:
    return [MemoryScope(scope, owner) for scope, owner in _owners(ctx).items() if owner]
