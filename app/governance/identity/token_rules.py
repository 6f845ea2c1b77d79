"""Rules for names and permissions of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.core.errors import InvalidInput

SCOPES = ("chat", "tools:call", "approve", "admin", "audit:read", "desktop")
# A scope of its own for each approver group: `approve:payments`.
APPROVE_GROUP = "approve:"
MAX_SCOPES = 50
# A token's name is its user's name: these own sessions without an issued token.
LOCAL_USER = "local"
ADMIN_USER = "admin"
BOOTSTRAP_USER = "bootstrap"
# Names in the audit for actions without a token; a token with such a name could pass for them.
_ACTORS = frozenset({"cli", "system", "unknown"})
RESERVED_NAMES = frozenset({LOCAL_USER, ADMIN_USER, BOOTSTRAP_USER}) | _ACTORS
# In a token's list of agents: sessions without an agent.
DEFAULT_AGENT = "default"

MAX_DAYS = 3650
MAX_GRACE_S = 7 * 24 * 3600
MAX_LISTED = 200
_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,128}")


@dataclass(frozen=True, slots=True)
class Rights:
    """Validated rights; `agents` and `projects` of None mean all."""

    scopes: tuple[str, ...]
    agents: tuple[str, ...] | None
    projects: tuple[str, ...] | None


def check_name(name: str) -> None:
    """Check a token's name; raises InvalidInput."""
    if not name.strip() or len(name) > 64 or not name.isprintable():
        raise InvalidInput("name must have 1 to 64 printable characters", field="name")
    if name.strip().lower() in RESERVED_NAMES:
        raise InvalidInput(f"{name!r} is reserved for a built-in user", field="name")


def check_days(days: int | None) -> None:
    """Check a token's lifetime; raises InvalidInput."""
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise InvalidInput(f"days must be between 1 and {MAX_DAYS}", field="days")


def check_grace(grace_s: int) -> None:
    """Check the grace period of a rotated token; raises InvalidInput."""
    if not 0 <= grace_s <= MAX_GRACE_S:
        raise InvalidInput(f"grace_s must be between 0 and {MAX_GRACE_S}", field="grace_s")


def check_rights(
    scopes: Iterable[str], agents: Iterable[str] | None, projects: Iterable[str] | None
) -> Rights:
    """Return rights in stored form, without duplicates.

    Raises:
        InvalidInput: an unknown scope, an invalid ID, an empty list, or restrictions on an
            administrator, who could lift them.
    """
    granted = tuple(dict.fromkeys(scopes))
    if not granted or not all(map(_is_scope, granted)):
        raise InvalidInput(
            f"scopes must be chosen from {', '.join(SCOPES)} and {APPROVE_GROUP}<group>",
            field="scopes",
        )
    rights = Rights(granted, _listed("agents", agents), _listed("projects", projects))
    for name, listed in (("agents", rights.agents), ("projects", rights.projects)):
        if listed is not None and "admin" in granted:
            raise InvalidInput(
                f"{name} cannot be limited for a token with the scope 'admin', because "
                "an administrator could remove the limit",
                field=name,
            )
    return rights


def groups_of_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return the approver groups that scopes such as `approve:payments` name."""
    named = (scope for scope in scopes if scope.startswith(APPROVE_GROUP))
    return frozenset(scope.removeprefix(APPROVE_GROUP) for scope in named)


def _is_scope(scope: str) -> bool:
    if scope.startswith(APPROVE_GROUP):
        return _ID.fullmatch(scope.removeprefix(APPROVE_GROUP)) is not None
    return scope in SCOPES


def _listed(field: str, ids: Iterable[str] | None) -> tuple[str, ...] | None:
    if ids is None:
        return None
    listed = tuple(dict.fromkeys(ids))
    if not 1 <= len(listed) <= MAX_LISTED:
        raise InvalidInput(f"{field} must list 1 to {MAX_LISTED} IDs, or be null", field=field)
    wrong = [item for item in listed if not _ID.fullmatch(item)]
    if wrong:
        raise InvalidInput(f"{field} must list IDs; {wrong[0][:100]!r} is not an ID", field=field)
    return listed
