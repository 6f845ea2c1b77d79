"""Checks of `tollgate doctor` on authentication."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.clock import SystemClock, isoformat
from app.core.settings import Settings
from app.execution.doctor.check import Check
from app.governance.identity.token_rules import BOOTSTRAP_USER
from app.governance.identity.tokens import Token


def access_checks(settings: Settings, tokens: list[Token]) -> Iterator[Check]:
    """Check tokens, anonymous access and TLS."""
    yield _tokens(settings, tokens)
    if settings.allow_anonymous:
        yield _open_house(settings, tokens)
    if not settings.is_loopback:
        yield Check("tls", "warning", "tls.clear", host=settings.host)


def _tokens(settings: Settings, tokens: list[Token]) -> Check:
    now = isoformat(SystemClock().now())
    active = [token for token in tokens if token.state(now) == "holds"]
    if settings.token is None and not active:
        return _no_token(settings, tokens)
    message = "; ".join(f"{token.name} ({','.join(token.scopes)})" for token in active)
    found = "tokens.setting" if not active else "tokens.both" if settings.token else "tokens.stored"
    first = [token for token in active if token.name == BOOTSTRAP_USER]
    if first and len(active) > len(first):
        return Check("tokens.first", "info", found, tokens=message)
    return Check("tokens", "ok", found, tokens=message)


def _no_token(settings: Settings, tokens: list[Token]) -> Check:
    if any(token.revoked_at is None for token in tokens):
        return Check("tokens.none", "warning", "tokens.expired")
    if not settings.is_loopback:
        return Check("tokens.none", "broken", "tokens.none")
    return Check("tokens.none", "info", "none" if settings.allow_anonymous else "tokens.first")


def _open_house(settings: Settings, tokens: list[Token]) -> Check:
    issued = any(token.revoked_at is None for token in tokens)
    if settings.token is not None or issued or not settings.is_loopback:
        return Check("open_house.idle", "info", "open_house.idle")
    return Check("open_house", "warning", "open_house.open")
