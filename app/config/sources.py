"""Settings of data sources for the SQL tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from app.config.sections import Section, split_words


class SourceSettings(Section):
    """Databases that agents may read."""

    keys: SecretStr | None = Field(
        default=None,
        description="Encryption keys of the passwords (32 bytes each, Base64, comma-separated): "
        "the first encrypts, all decrypt; `<data_dir>/keys/sources.key` when unset.",
    )
    sqlite_folders: Annotated[list[Path], NoDecode] = Field(
        default_factory=list,
        description="Folders of SQLite files that can be data sources, comma-separated.",
    )
    connections: int = Field(
        default=4, ge=1, le=64, description="Maximum concurrent connections per data source."
    )
    idle_s: float = Field(
        default=300, gt=0, description="Seconds an idle connection to a data source stays open."
    )
    query_retention_days: int = Field(
        default=365,
        ge=0,
        le=36_500,
        description="Days to keep query audit entries; 0 keeps them forever.",
    )

    @field_validator("sqlite_folders", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("sqlite_folders")
    @classmethod
    def _are_absolute(cls, value: list[Path]) -> list[Path]:
        if wrong := [path for path in value if not path.is_absolute()]:
            raise ValueError(f"{str(wrong[0])!r} is not an absolute path")
        return value
