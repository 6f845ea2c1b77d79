"""Settings of Web Push."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from app.config.sections import Section, split_words

_ORIGIN = r"^https?://[^/?#@\s]+$"


class PushSettings(Section):
    """Push notifications to browsers. The key of the service is kept in `keys/web-push.key`."""

    contact: str | None = Field(
        default=None,
        pattern=r"^(mailto:[^\s@]+@[^\s@]+|https://\S+)$",
        description="Address that push services can write to, such as `mailto:admin@example.org`; "
        "Apple's push service requires it.",
    )
    trusted_origins: Annotated[
        list[Annotated[str, Field(pattern=_ORIGIN)]],
        NoDecode,
    ] = Field(
        default_factory=list,
        description="Push services that may have any network address and use HTTP, such as "
        "`http://push.internal:8080`, comma-separated.",
    )

    @field_validator("trusted_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_words(value)
