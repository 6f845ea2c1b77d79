"""Settings of the listening side: deadlines, how many may come, whose word about others counts."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from app.core.sections import Section, split_words


class ServingSettings(Section):
    """What one client may hold of the service; `docs/operations.md` tells more."""

    header_timeout_s: float = Field(
        default=10, gt=0, description="Seconds until a request's headers must be complete."
    )
    body_timeout_s: float = Field(
        default=30,
        gt=0,
        description="Seconds a request's body may take, and one more for each 16 KiB of it.",
    )
    write_timeout_s: float = Field(
        default=30, gt=0, description="Seconds a client may leave an answer unread."
    )
    idle_timeout_s: float = Field(
        default=75, gt=0, description="Seconds a connection stays open between two requests."
    )
    connections: int = Field(
        default=10_000,
        ge=8,
        description="Connections at once; the limit of open files may allow fewer.",
    )
    connections_per_address: int = Field(
        default=128, ge=1, description="Connections of one address that have not signed in."
    )
    lockout_max_s: float = Field(
        default=900,
        ge=1,
        description="The longest time that failed sign-ins stop those of their address.",
    )
    disk_reserve_mb: int = Field(
        default=64,
        ge=0,
        description="Free MiB of the data directory's disk below which no new work is taken.",
    )
    trusted_proxies: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Addresses and networks of proxies, comma-separated: what they say in "
        "`X-Forwarded-For` and `X-Forwarded-Proto` counts.",
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
                    f"{item!r} is neither an address nor a network ({error});"
                    " write it like 10.0.0.1 or 10.0.0.0/8"
                ) from None
        return value
