"""Settings of notifications about pending requests."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from app.config.sections import Section

_MAX_ADDRESS = 2000


def _unset_when_empty(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _is_address(value: str | None) -> str | None:
    if value is None:
        return None
    parts = urlsplit(value)
    if (
        len(value) > _MAX_ADDRESS
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
    ):
        raise ValueError(
            f"{value[:100]!r} is not the address of a web page, such as https://tollgate.example.org"
        )
    return value.rstrip("/")


PublicUrl = Annotated[
    str | None,
    BeforeValidator(_unset_when_empty),
    AfterValidator(_is_address),
    Field(
        description="Address at which people open this service in a browser, with the path prefix "
        "of a reverse proxy; links in notifications start with it. `http://<host>:<port>` when "
        "unset.",
    ),
]


class NotificationSettings(Section):
    """Messages to people who may answer pending requests."""

    history_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days to keep sent notifications; 0 keeps them forever.",
    )
