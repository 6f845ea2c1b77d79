"""Settings of data sources for the SQL tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from app.core.sections import Section, split_words


class SourceSettings(Section):
    """Databases that agents may read."""

    keys: SecretStr | None = Field(
        default=None,
        description="Keys (32 bytes each, Base64, comma-separated) that seal the passwords: the "
        "first one seals, all of them open; `<data_dir>/keys/sources.key` when unset.",
    )
    sqlite_folders: Annotated[list[Path], NoDecode] = Field(
        default_factory=list,
        description="Folders whose SQLite files may be data sources, comma-separated.",
    )
    connections: int = Field(
        default=4, ge=1, le=64, description="Connections to one data source at the same time."
    )
    idle_s: float = Field(
        default=300, gt=0, description="Seconds an unused connection to a data source is kept."
    )
    query_retention_days: int = Field(
        default=365,
        ge=0,
        le=36_500,
        description="Days a line of the audit of queries is kept; 0: for ever.",
    )

    @field_validator("sqlite_folders", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("sqlite_folders")
    @classmethod
    def _are_absolute(cls, value: list[Path]) -> list[Path]:
        if wrong := [path for path in value if not path.is_absolute()]:
            raise ValueError(f"{str(wrong[0])!r} must be an absolute path")
        return value
