"""Which answers a confirmation offers, and how long each of them lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.governance.grants import PERMANENT_SCOPES, GrantScope

DECLINE = "decline"
APPROVE_ONCE = "approve_once"
APPROVE_RUN = "approve_run"
APPROVE_SESSION = "approve_session"
APPROVE_AGENT = "approve_agent"
APPROVE_ALWAYS = "approve_always"
ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class GrantTimes:
    """Seconds that lasting approvals live; one for a run ends with the run at the latest.

    Attributes:
        permanent: approvals that outlive the session may be given.
    """

    session_s: float
    agent_s: float
    always_s: float
    permanent: bool = True

    def may_last(self, offer: Offer) -> bool:
        """Whether the answer may be given, as things stand now."""
        return self.permanent or offer.scope not in PERMANENT_SCOPES


@dataclass(frozen=True, slots=True)
class Offer:
    """One answer that may be given.

    Attributes:
        scope: what a lasting approval is bound to; None for one that does not last.
        expires_in_s: how long it lasts.
        covers: what a lasting approval would cover, for people.
    """

    option_id: str
    label: str
    kind: Literal["allow", "deny"]
    scope: GrantScope | None = None
    scope_id: str | None = None
    expires_in_s: float | None = None
    requires_scope: str | None = None
    covers: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the event."""
        told: dict[str, Any] = {
            "option_id": self.option_id,
            "label": self.label,
            "kind": self.kind,
        }
        for name in ("expires_in_s", "requires_scope", "covers"):
            value = getattr(self, name)
            if value is not None:
                told[name] = value
        return told


ONCE_OR_NOT = (
    Offer(DECLINE, "Decline", "deny"),
    Offer(APPROVE_ONCE, "Approve once", "allow"),
)
_SCOPES: Mapping[str, GrantScope] = {
    APPROVE_RUN: "run",
    APPROVE_SESSION: "session",
    APPROVE_AGENT: "agent",
    APPROVE_ALWAYS: "always",
}


def offers_for(
    *,
    covers: str | None,
    run_id: str | None,
    session_id: str,
    agent_id: str | None,
    times: GrantTimes,
) -> tuple[Offer, ...]:
    """What is offered for a call; `covers` None means that no approval of it may last."""
    if covers is None:
        return ONCE_OR_NOT
    lasting: list[Offer] = []
    if run_id is not None:
        lasting.append(
            Offer(APPROVE_RUN, "Approve in this run", "allow", "run", run_id, covers=covers)
        )
    lasting.append(
        Offer(
            APPROVE_SESSION,
            "Approve in this session",
            "allow",
            "session",
            session_id,
            times.session_s or None,
            covers=covers,
        )
    )
    if agent_id is not None:
        label = f"Approve for the agent {agent_id}"
        lasting.append(
            Offer(
                APPROVE_AGENT,
                label,
                "allow",
                "agent",
                agent_id,
                times.agent_s or None,
                ADMIN,
                covers,
            )
        )
    lasting.append(
        Offer(
            APPROVE_ALWAYS,
            "Approve always",
            "allow",
            "always",
            None,
            times.always_s or None,
            ADMIN,
            covers,
        )
    )
    return (*ONCE_OR_NOT, *filter(times.may_last, lasting))


def offer_of(
    told: Mapping[str, Any], *, run_id: str | None, session_id: str, agent_id: str | None
) -> Offer:
    """An option as it was told, as a value again."""
    option_id = str(told["option_id"])
    scope = _SCOPES.get(option_id)
    ids = {"run": run_id, "session": session_id, "agent": agent_id}
    return Offer(
        option_id,
        str(told["label"]),
        told["kind"],
        scope,
        ids.get(scope) if scope else None,
        told.get("expires_in_s"),
        told.get("requires_scope"),
        told.get("covers"),
    )
