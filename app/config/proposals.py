"""Settings of proposed rules and of the budget of questions."""

from __future__ import annotations

from pydantic import Field

from app.config.sections import Section


class ProposalSettings(Section):
    """Rules that are proposed from the answers of people; see docs/rules.md."""

    replayed_calls: int = Field(
        default=5_000,
        ge=100,
        le=50_000,
        description="Number of newest calls that proposals are computed from and proven against.",
    )
    hourly: bool = Field(
        default=True,
        description="Compute proposals every hour; without it, only on demand.",
    )
    prompts_per_100_calls: float = Field(
        default=3,
        gt=0,
        description="Target for how often people are asked, per 100 calls of an agent.",
    )
