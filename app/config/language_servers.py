"""Settings of language servers: programs that know code, for the tool `lsp`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from app.config.sections import Section


class LanguageServerSettings(Section):
    """One server; it is started inside the sandbox, without network."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.\-]{1,64}$", description="Name shown in results.")
    command: list[str] = Field(
        min_length=1, description="Command line of the server, which must use stdio."
    )
    extensions: dict[str, str] = Field(
        min_length=1, description="Language ID by file suffix, such as `ts: typescript`."
    )
    initialization_options: dict[str, Any] = Field(
        default_factory=dict, description="Initialization options sent to the server at its start."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings returned when the server requests its configuration.",
    )
    env: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of the server."
    )

    @field_validator("command")
    @classmethod
    def _can_start(cls, value: list[str]) -> list[str]:
        if not value[0].strip() or any("\0" in word for word in value):
            raise ValueError("must name a program to start, without NUL characters")
        return value

    @field_validator("extensions")
    @classmethod
    def _bare(cls, value: dict[str, str]) -> dict[str, str]:
        return {suffix.lstrip(".").lower(): language for suffix, language in value.items()}


class LanguageServersSettings(Section):
    """Language servers, their number and lifetime."""

    servers: Annotated[
        list[LanguageServerSettings],
        # `docs/developer-tools.md` tells the fields; the page of all settings does not.
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ] = Field(
        default_factory=list,
        description="Language servers besides the built-in one for Python; a server of the same "
        "name replaces it.",
    )
    max_running: int = Field(
        default=4, ge=1, le=64, description="Maximum number of running language servers."
    )
    idle_s: float = Field(
        default=600, gt=0, description="Seconds without a request after which a server is stopped."
    )
    memory_mb: int = Field(
        default=2048, ge=128, description="Memory limit of each language server, in MB."
    )

    @model_validator(mode="after")
    def _named_once(self) -> LanguageServersSettings:
        names = [server.name for server in self.servers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"duplicate language server names: {', '.join(twice)}")
        return self
