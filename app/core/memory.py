"""Settings of what agents remember."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


class MemorySettings(BaseModel):
    """Memories of agents, users and projects."""

    model_config = ConfigDict(extra="forbid")

    max_memories: int = Field(
        default=100_000,
        ge=1,
        description="Memories of one agent, user or project; one more is an error.",
    )
    warn_percent: int = Field(
        default=90, ge=1, le=100, description="Share of them from which every save warns."
    )
    half_life_days: float = Field(
        default=90, gt=0, description="Age at which a memory has lost half of what being new adds."
    )
    ask_before_sharing: bool = Field(
        default=False,
        description="Ask a person before memory that others read too (agent, project) is changed.",
    )
    postgres: SecretStr | None = Field(
        default=None,
        description="PostgreSQL that keeps memory instead of the service's database, shared by "
        "all that name it: `postgresql://user:password@host/database`.",
    )

    @field_validator("postgres", mode="before")
    @classmethod
    def _unset_when_empty(cls, value: Any) -> Any:
        """A variable that a container passes on without a value says nothing."""
        return None if isinstance(value, str) and not value.strip() else value
