"""Channels of kind `discord`: messages of a webhook, edited when the request ends."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

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

_MAX_TEXT = 1800
_NUMBER = re.compile(r"[0-9]{1,30}")


class DiscordSettings(KindSettings):
    """A Discord webhook has no settings besides its secrets."""


class DiscordSecrets(KindSecrets):
    """Attributes: `url` of the webhook."""

    url: SecretUrl


class Discord:
    """A `Transport`. The reference is the message's number."""

    def __init__(
        self, settings: DiscordSettings, secrets: DiscordSecrets, services: TransportServices
    ) -> None:
        del settings
        self._url = secrets.url.get_secret_value()
        self._http = HttpSender(services)

    async def send(self, address: str, message: Notification) -> str | None:
        answer = await self._http.post(self._at("", "wait=true"), _message(message))
        return _number(answer.body)

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        if reference is None:
            # The answer with the number was lost: say the end in a message of its own.
            await self.send(address, message)
            return
        url = self._at(f"/messages/{reference}", "")
        await self._http.post(url, _message(message), method="PATCH")

    def _at(self, path: str, query: str) -> str:
        parts = urlsplit(self._url)
        queries = "&".join(part for part in (parts.query, query) if part)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, query=queries))


def _message(message: Notification) -> dict[str, Any]:
    # A code block shows everything from the request unchanged.
    text = f"{message.subject}\n{message.body}".rstrip().replace("```", "'''")[:_MAX_TEXT]
    return {
        "content": f"```\n{text}\n```\n{message.link}",
        "allowed_mentions": {"parse": []},
    }


def _number(body: bytes) -> str | None:
    """Return the number of a posted message; None if the answer has none."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    number = answer.get("id") if isinstance(answer, dict) else None
    return number if isinstance(number, str) and _NUMBER.fullmatch(number) else None


def _origin(settings: DiscordSettings, secrets: DiscordSecrets) -> str:
    del settings
    return origin_of(secrets.url.get_secret_value())


DISCORD = TransportKind("discord", DiscordSettings, DiscordSecrets, Discord, _origin)
