"""Options of a confirmation, and their lifetimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from app.governance.grants import PERMANENT_SCOPES, GrantScope
from app.policy.grants import PatternKind

DECLINE = "decline"
APPROVE_ONCE = "approve_once"
APPROVE_RUN = "approve_run"
APPROVE_SESSION = "approve_session"
APPROVE_AGENT = "approve_agent"
APPROVE_ALWAYS = "approve_always"
ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class GrantTtls:
    """Lifetimes of standing approvals in seconds; an approval for a run ends with the run at the
    latest.

    Attributes:
        permanent: whether approvals may outlive the session.
    """

    session_s: float
    agent_s: float
    always_s: float
    permanent: bool = True

    def may_last(self, option: AnswerOption) -> bool:
        """Return whether the option is currently allowed."""
        return self.permanent or option.scope not in PERMANENT_SCOPES


class GrantCoverage(NamedTuple):
    """Coverage of a standing approval: a sentence for people, and the kind of pattern."""

    sentence: str
    kind: PatternKind


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """One offered answer.

    Attributes:
        scope: scope of a standing approval; None for a single call.
        expires_in_s: lifetime in seconds.
        covers: coverage of a standing approval, for people.
        covers_kind: kind of its pattern.
    """

    option_id: str
    label: str
    kind: Literal["allow", "deny"]
    scope: GrantScope | None = None
    scope_id: str | None = None
    expires_in_s: float | None = None
    requires_scope: str | None = None
    covers: str | None = None
    covers_kind: PatternKind | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the form in the event."""
        option_data: dict[str, Any] = {
            "option_id": self.option_id,
            "label": self.label,
            "kind": self.kind,
        }
        for name in ("expires_in_s", "requires_scope", "covers", "covers_kind"):
            value = getattr(self, name)
            if value is not None:
                option_data[name] = value
        return option_data


ONCE_OR_NOT = (
    AnswerOption(DECLINE, "Decline", "deny"),
    AnswerOption(APPROVE_ONCE, "Approve once", "allow"),
)
_SCOPES: Mapping[str, GrantScope] = {
    APPROVE_RUN: "run",
    APPROVE_SESSION: "session",
    APPROVE_AGENT: "agent",
    APPROVE_ALWAYS: "always",
}


def options_for(
    *,
    coverage: GrantCoverage | None,
    run_id: str | None,
    session_id: str,
    agent_id: str | None,
    times: GrantTtls,
) -> tuple[AnswerOption, ...]:
    """Return the options of a call; without `coverage`, no option is standing."""
    if coverage is None:
        return ONCE_OR_NOT
    covers, kind = coverage
    allow = partial(AnswerOption, kind="allow", covers=covers, covers_kind=kind)
    lasting: list[AnswerOption] = []
    if run_id is not None:
        lasting.append(allow(APPROVE_RUN, "Approve in this run", scope="run", scope_id=run_id))
    lasting.append(
        allow(
            APPROVE_SESSION,
            "Approve in this session",
            scope="session",
            scope_id=session_id,
            expires_in_s=times.session_s or None,
        )
    )
    if agent_id is not None:
        lasting.append(
            allow(
                APPROVE_AGENT,
                f"Approve for the agent {agent_id}",
                scope="agent",
                scope_id=agent_id,
                expires_in_s=times.agent_s or None,
                requires_scope=ADMIN,
            )
        )
    lasting.append(
        allow(
            APPROVE_ALWAYS,
            "Approve always",
            scope="always",
            expires_in_s=times.always_s or None,
            requires_scope=ADMIN,
        )
    )
    return (*ONCE_OR_NOT, *filter(times.may_last, lasting))


def option_from_dict(
    option_data: Mapping[str, Any], *, run_id: str | None, session_id: str, agent_id: str | None
) -> AnswerOption:
    """Parse an option from its serialized form."""
    option_id = str(option_data["option_id"])
    scope = _SCOPES.get(option_id)
    ids = {"run": run_id, "session": session_id, "agent": agent_id}
    return AnswerOption(
        option_id,
        str(option_data["label"]),
        option_data["kind"],
        scope,
        ids.get(scope) if scope else None,
        option_data.get("expires_in_s"),
        option_data.get("requires_scope"),
        option_data.get("covers"),
        option_data.get("covers_kind"),
    )
