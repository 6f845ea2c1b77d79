"""Whom the scope `desktop` makes of a principal."""

from __future__ import annotations

from app.api.principal import Principal

DESKTOP_SCOPE = "desktop"


def key_of(principal: Principal) -> str:
    """What a claim is bound to: the token, or without one the user."""
    return principal.token_id or f"user:{principal.user_id}"
