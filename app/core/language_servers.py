"""Settings of language servers: programs that know code, for the tool `lsp`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from app.core.sections import Section


class LanguageServerSettings(Section):
    """One server; it is started inside the sandbox, without network."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.\-]{1,64}$", description="How results name it.")
    command: list[str] = Field(min_length=1, description="Program and arguments; it uses stdio.")
    extensions: dict[str, str] = Field(
        min_length=1, description="Suffix of its files to language id, such as `ts: typescript`."
    )
    initialization_options: dict[str, Any] = Field(
        default_factory=dict, description="Sent to it when it starts."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="What it gets when it asks for its configuration."
    )
    env: dict[str, str] = Field(default_factory=dict, description="Its environment variables.")

    @field_validator("command")
    @classmethod
    def _can_start(cls, value: list[str]) -> list[str]:
        if not value[0].strip() or any("\0" in word for word in value):
            raise ValueError("give a program to start, without NUL characters")
        return value

    @field_validator("extensions")
    @classmethod
    def _bare(cls, value: dict[str, str]) -> dict[str, str]:
        return {suffix.lstrip(".").lower(): language for suffix, language in value.items()}


class LanguageServersSettings(Section):
    """Which there are, and how many may run for how long."""

    servers: Annotated[
        list[LanguageServerSettings],
        # `docs/developer-tools.md` tells the fields; the page of all settings does not.
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ] = Field(
        default_factory=list,
        description="Servers besides the one for Python; one of that name takes its place.",
    )
    max_running: int = Field(default=4, ge=1, le=64, description="Servers at the same time.")
    idle_s: float = Field(
        default=600, gt=0, description="Seconds without a question until one is ended."
    )
    memory_mb: int = Field(default=2048, ge=128, description="Memory of each, in MB.")

    @model_validator(mode="after")
    def _told_apart(self) -> LanguageServersSettings:
        names = [server.name for server in self.servers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two language servers are called {', '.join(twice)}")
        return self
