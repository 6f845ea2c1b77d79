"""Parts of `tool_confirmation_request`: what an approval policy requires."""

from __future__ import annotations

from pydantic import Field

from app.events.envelope import Part


class ShownStep(Part):
    """Approvers from a time on."""

    groups: list[str] = Field(default_factory=list, description="IDs of approver groups.")
    owner: bool = Field(default=False, description="The owner of the session may answer too.")
    at: str


class ShownTerms(Part):
    """What an approval policy requires of the answer."""

    policy_id: str
    policy: str = Field(description="Name of the policy.")
    requester: str | None = Field(
        default=None, description="User who sent the message or call that led to it."
    )
    steps: list[ShownStep]
    quorum: int = Field(default=1, description="Number of people who must approve.")
    not_requester: bool = Field(default=False, description="The requester may not answer.")
    context_turns: int = Field(
        default=0, description="Turns of the conversation that approvers may read."
    )
    approved_by: list[str] = Field(default_factory=list)
