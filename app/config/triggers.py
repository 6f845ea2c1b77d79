"""Settings of triggers: requests that leave, and webhooks that come in."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from app.config.sections import Section, split_words

# What it means exactly is read where addresses are; this tells slips apart from addresses.
_ENTRY = re.compile(r"(?:https?://)?[^\s/?#@\\*%]+(?:/[^\s?#\\*%]*)?")


class TriggerSettings(Section):
    """Requests to other systems, and what other systems begin here."""

    allow: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Addresses that `remote_trigger` may call, comma-separated: a host, or the "
        "start of a URL. All others are refused; named triggers need no entry.",
    )
    keys: SecretStr | None = Field(
        default=None,
        description="Encryption keys of trigger, webhook and notification secrets, "
        "comma-separated, newest first; each 32 bytes in Base64; "
        "`<data_dir>/keys/triggers.key` when unset.",
    )
    body_chars: int = Field(
        default=20_000,
        ge=1000,
        le=262_144,
        description="Maximum characters of a webhook delivery that its agent reads.",
    )

    @field_validator("allow", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("allow")
    @classmethod
    def _are_addresses(cls, value: list[str]) -> list[str]:
        for text in value:
            if not _ENTRY.fullmatch(text) or "/../" in f"{text}/" or "/./" in f"{text}/":
                raise ValueError(
                    f"{text[:100]!r} is neither a host such as ci.example.org nor the "
                    "start of a URL such as https://ci.example.org/hooks/"
                )
        return value
