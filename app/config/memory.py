"""Settings of what agents remember."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from app.config.sections import Section


class MemorySettings(Section):
    """Memories of agents, users and projects."""

    max_memories: int = Field(
        default=100_000,
        ge=1,
        description="Maximum number of memories of one agent, user or project; saving more fails.",
    )
    warn_percent: int = Field(
        default=90,
        ge=1,
        le=100,
        description="Percentage of the maximum from which every save returns a warning.",
    )
    half_life_days: float = Field(
        default=90,
        gt=0,
        description="Age in days at which the recency bonus of a memory has halved.",
    )
    ask_before_sharing: bool = Field(
        default=False,
        description="Require approval before memory shared with others (agent, project) is "
        "changed.",
    )
    postgres: SecretStr | None = Field(
        default=None,
        description="PostgreSQL database that stores memory instead of the service's database; "
        "can be shared by several services: "
        "`postgresql://user:password@host/database`.",
    )
    embeddings_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/?#@]+[^?#]*$",
        description="URL of an OpenAI-compatible embeddings API, such as "
        "`http://127.0.0.1:8080/v1`. Enables search by meaning; every memory is sent "
        "to this server.",
    )
    embeddings_key: SecretStr | None = Field(
        default=None, description="API key of the embeddings API."
    )
    embeddings_model: str = Field(
        default="text-embedding-3-small",
        min_length=1,
        max_length=200,
        description="Embeddings model to use. After a change, all memories are sent again.",
    )
    embeddings_least: float = Field(
        default=0.35,
        ge=0,
        lt=1,
        description="Minimum cosine similarity for a memory to match by meaning.",
    )

    @field_validator("postgres", "embeddings_url", "embeddings_key", mode="before")
    @classmethod
    def _unset_when_empty(cls, value: Any) -> Any:
        """A variable that a container passes on without a value says nothing."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _key_has_a_server(self) -> Self:
        if self.embeddings_key is not None and self.embeddings_url is None:
            raise ValueError(
                "embeddings_key requires embeddings_url: set the URL of the server that "
                "the key is for"
            )
        return self
