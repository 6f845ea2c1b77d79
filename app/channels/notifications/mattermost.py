"""Channels of kind `mattermost`: posts of an incoming webhook."""

from __future__ import annotations

import re
from typing import Any

from app.channels.notifications.http_sender import HttpSender
from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    SecretUrl,
    TransportKind,
    TransportServices,
    origin_of,
)
from app.channels.notifications.transport import Notification
from app.core.field_problems import FieldError

_CHANNEL = re.compile(r"@?[a-z0-9._-]{1,64}")
_TICKS = re.compile(r"`{3,}")


class MattermostSettings(KindSettings):
    """A Mattermost webhook has no settings besides its secrets."""


class MattermostSecrets(KindSecrets):
    """Attributes: `url` of the incoming webhook."""

    url: SecretUrl


class Mattermost:
    """A `Transport`. Posts of a webhook cannot be edited, so the end is a post of its own."""

    def __init__(
        self, settings: MattermostSettings, secrets: MattermostSecrets, services: TransportServices
    ) -> None:
        del settings
        self._url = secrets.url.get_secret_value()
        self._http = HttpSender(services)

    async def send(self, address: str, message: Notification) -> str | None:
        body: dict[str, Any] = {"text": post_of(message)}
        if address:
            body["channel"] = address
        await self._http.post(self._url, body)
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self.send(address, message)


def post_of(message: Notification) -> str:
    """Return the Markdown of a post.

    Everything from the request stays in a code block, where neither Markdown nor mentions apply.
    """
    text = f"{message.subject}\n{message.body}".rstrip()
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}\n[Open the request]({message.link})"


def channel_of(address: str) -> str:
    """Return the channel or user of a subscription; empty for the channel of the webhook.

    Raises:
        FieldError: it is not a name of Mattermost.
    """
    if address and not _CHANNEL.fullmatch(address):
        raise FieldError(
            "must be the name of a channel, or `@` and the name of a user", code="invalid_channel"
        )
    return address


def _origin(settings: MattermostSettings, secrets: MattermostSecrets) -> str:
    del settings
    return origin_of(secrets.url.get_secret_value())


MATTERMOST = TransportKind(
    "mattermost", MattermostSettings, MattermostSecrets, Mattermost, _origin, address=channel_of
)
