"""Settings of what agents remember."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from app.core.sections import Section


class MemorySettings(Section):
    """Memories of agents, users and projects."""

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
    embeddings_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/?#@]+[^?#]*$",
        description="A server with OpenAI's embeddings API, such as `http://127.0.0.1:8080/v1`: "
        "memories are then found by what they mean too, and every one is sent there.",
    )
    embeddings_key: SecretStr | None = Field(default=None, description="Its key.")
    embeddings_model: str = Field(
        default="text-embedding-3-small",
        min_length=1,
        max_length=200,
        description="Which model of it; after a change all memories are sent again.",
    )
    embeddings_least: float = Field(
        default=0.35,
        ge=0,
        lt=1,
        description="How alike in meaning (cosine) a memory must be to be found by it.",
    )

    @field_validator("postgres", "embeddings_url", "embeddings_key", mode="before")
    @classmethod
    def _unset_when_empty(cls, value: Any) -> Any:
        """A variable that a container passes on without a value says nothing."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _key_has_a_server(self) -> Self:
        if self.embeddings_key is not None and self.embeddings_url is None:
            raise ValueError("embeddings_key without embeddings_url: say which server it is for")
        return self
