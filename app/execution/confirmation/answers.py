"""Answers to a confirmation: who may answer, the answer's content, and reasons for refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import (
    AlreadyApproved,
    AlreadyFinished,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    DigestMismatch,
    Forbidden,
    InvalidInput,
)
from app.events.durable import ConfirmationOutcome
from app.execution.confirmation.options import APPROVE_ONCE, AnswerOption
from app.governance.approvals.approver import Approver


@dataclass(frozen=True, slots=True)
class ConfirmationReply:
    """Submitted answer: one of the offered options, for exactly one call.

    Attributes:
        edited_args: replacement for all arguments.
        message: message for the model.
        expires_in_s: shorter lifetime of a standing approval, in seconds.
        max_uses: number of later calls that a standing approval covers at most.
    """

    option_id: str
    digest: str
    message: str | None = None
    edited_args: dict[str, Any] | None = None
    expires_in_s: float | None = None
    max_uses: int | None = None


@dataclass(frozen=True, slots=True)
class ConfirmationResolution:
    """Outcome of a confirmation for the waiting call.

    Attributes:
        edited_args: arguments from a person that replace the model's.
        is_released: answered by a standing approval from another confirmation.
        on_behalf_of: user whose substitute answered.
        approved_by: everyone who approved, where a policy requires several.
        grant_id: standing approval created by the answer, or that released the call.
    """

    outcome: ConfirmationOutcome
    option_id: str | None = None
    by: str | None = None
    message: str | None = None
    edited_args: dict[str, Any] | None = None
    grant_id: str | None = None
    is_released: bool = False
    on_behalf_of: str | None = None
    approved_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VoteLost:
    """An approval that did not count.

    Attributes:
        is_repeat: the same person has approved before.
        row: status, digest and answerer of the confirmation.
    """

    is_repeat: bool
    row: tuple[Any, ...]


def chosen_option(
    options: Mapping[str, AnswerOption],
    reply: ConfirmationReply,
    approver: Approver,
    *,
    agent_id: str | None = None,
) -> AnswerOption:
    """Return the option that the reply names.

    Args:
        agent_id: agent that made the call.

    Raises:
        Forbidden: the sender may not give this answer.
        InvalidInput: the option was not offered, or does not allow edited arguments.
    """
    if not approver.may_answer_for(agent_id):
        raise Forbidden("The token is not allowed to answer for this agent", agent_id=agent_id)
    if approver.kind != "person":
        raise Forbidden(f"Only a person can answer, not an {approver.kind}", kind=approver.kind)
    option = options.get(reply.option_id)
    if option is None:
        raise InvalidInput(f"option_id must be one of {', '.join(options)}", field="option_id")
    if option.requires_scope is not None and not approver.is_admin:
        raise Forbidden(
            f"{option.option_id!r} requires the scope {option.requires_scope!r}",
            scope=option.requires_scope,
        )
    if reply.edited_args is not None and option.option_id != APPROVE_ONCE:
        raise InvalidInput(
            f"Edited arguments require {APPROVE_ONCE!r}: they are approved for this call only",
            field="edited_args",
        )
    for field, value in (("expires_in_s", reply.expires_in_s), ("max_uses", reply.max_uses)):
        if value is not None and option.scope is None:
            raise InvalidInput(
                f"{field} limits a standing approval, and {option.option_id!r} is none", field=field
            )
    return option


def refusal(
    confirmation_id: str, *, status: str, stored_digest: str, by: str | None, digest: str
) -> AlreadyFinished | ConfirmationAlreadyResolved | ConfirmationExpired | DigestMismatch:
    """Return why an answer was refused, from the stored row."""
    if status == "expired" or (status == "pending" and stored_digest == digest):
        return ConfirmationExpired(
            "The confirmation has expired; the call was not run",
            confirmation_id=confirmation_id,
            outcome="expired",
        )
    if status == "cancelled":
        return AlreadyFinished(
            "The call ended before it was answered; it was not run",
            confirmation_id=confirmation_id,
            outcome="cancelled",
        )
    if status != "pending":
        return ConfirmationAlreadyResolved(
            f"Already {status}" + (f" by {by}" if by else ""),
            confirmation_id=confirmation_id,
            outcome=status,
            by=by,
        )
    return DigestMismatch("The digest does not match this call; reload the confirmation")


def repeated_vote(confirmation_id: str, *, approved: int, quorum: int) -> AlreadyApproved:
    """Return why a second approval of the same person is refused."""
    return AlreadyApproved(
        f"You have already approved this call; {approved} of {quorum} approvals are given",
        confirmation_id=confirmation_id,
        approved=approved,
        quorum=quorum,
    )


def shorter(offered_s: float | None, wanted_s: float | None) -> float | None:
    """Return the lifetime of a standing approval: no longer than offered; None for no end."""
    given = [lives for lives in (offered_s, wanted_s) if lives]
    return min(given, default=None)
