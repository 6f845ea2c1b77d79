"""What `tollgate doctor` says about who may come in."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.clock import SystemClock, isoformat
from app.core.settings import Settings
from app.execution.doctor.check import Check
from app.governance.identity.token_rules import BOOTSTRAP_USER
from app.governance.identity.tokens import Token

MAKE_ONE = "`tollgate token create NAME`, or set TOLLGATE_TOKEN"


def access_checks(settings: Settings, tokens: list[Token]) -> Iterator[Check]:
    """Which tokens there are, whether the house is open, whether tokens travel in the clear."""
    yield _tokens(settings, tokens)
    if settings.open_house:
        yield _open_house(settings, tokens)
    if not settings.is_loopback:
        yield Check(
            "TLS",
            "warning",
            f"{settings.host} is served in the clear",
            "the service speaks no TLS itself: tokens and results could be read on the way",
            "put a proxy with TLS in front, and set TOLLGATE_SECURE_COOKIE=true",
        )


def _tokens(settings: Settings, tokens: list[Token]) -> Check:
    meaning = "what requests are let in with"
    now = isoformat(SystemClock().now())
    active = [token for token in tokens if token.state(now) == "holds"]
    known = ["TOLLGATE_TOKEN is set"] if settings.token is not None else []
    known += [f"{token.name} ({','.join(token.scopes)})" for token in active]
    if not known:
        return _no_token(settings, tokens, meaning)
    first = [token for token in active if token.name == BOOTSTRAP_USER]
    if first and len(active) > len(first):
        fix = "`tollgate token revoke bootstrap` when nobody needs the first token any more"
        return Check("tokens", "info", "; ".join(known), meaning, fix)
    return Check("tokens", "ok", "; ".join(known), meaning)


def _no_token(settings: Settings, tokens: list[Token], meaning: str) -> Check:
    if any(token.revoked_at is None for token in tokens):
        return Check("tokens", "warning", "all have expired", meaning, MAKE_ONE)
    if not settings.is_loopback:
        return Check("tokens", "broken", "none: `serve` will not start", meaning, MAKE_ONE)
    found = "none" if settings.open_house else "none yet: `serve` makes the first one"
    return Check("tokens", "info", found, meaning, MAKE_ONE)


def _open_house(settings: Settings, tokens: list[Token]) -> Check:
    issued = any(token.revoked_at is None for token in tokens)
    meaning = "without any token, whoever reaches this machine's loopback is an administrator"
    if settings.token is not None or issued or not settings.is_loopback:
        return Check("open house", "info", "set, without effect", meaning)
    fix = "unset TOLLGATE_OPEN_HOUSE; `serve` then makes a token"
    return Check("open house", "warning", "open to every user and program here", meaning, fix)
