"""Settings of the listening side: deadlines, how many may come, whose word about others counts."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from app.config.sections import Section, split_words


class ServingSettings(Section):
    """Limits of client connections; see `docs/operations.md`."""

    header_timeout_s: float = Field(
        default=10, gt=0, description="Seconds within which a request's headers must arrive."
    )
    body_timeout_s: float = Field(
        default=30,
        gt=0,
        description="Seconds within which a request's body must arrive, plus one second for each "
        "16 KiB.",
    )
    write_timeout_s: float = Field(
        default=30, gt=0, description="Seconds a client may take to read a response."
    )
    idle_timeout_s: float = Field(
        default=75, gt=0, description="Seconds an idle connection stays open between requests."
    )
    connections: int = Field(
        default=10_000,
        ge=8,
        description="Maximum number of connections; the limit of open files can lower it.",
    )
    connections_per_address: int = Field(
        default=128, ge=1, description="Maximum number of unauthenticated connections per address."
    )
    lockout_max_s: float = Field(
        default=900,
        ge=1,
        description="Maximum lockout of an address after failed sign-ins, in seconds.",
    )
    disk_reserve_mb: int = Field(
        default=64,
        ge=0,
        description="Free disk space of the data directory in MiB below which new work is refused.",
    )
    trusted_proxies: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Addresses and networks of reverse proxies, comma-separated, whose "
        "`X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.",
    )

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: list[str]) -> list[str]:
        for item in value:
            try:
                ip_network(item)
            except ValueError as error:
                raise ValueError(
                    f"{item!r} is neither an address nor a network ({error}): use a "
                    "value such as 10.0.0.1 or 10.0.0.0/8"
                ) from None
        return value
