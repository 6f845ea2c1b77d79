"""Channels of kind `teams`: adaptive cards to the webhook of a Teams workflow."""

from __future__ import annotations

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

_CARD = "application/vnd.microsoft.card.adaptive"
_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


class TeamsSettings(KindSettings):
    """A Teams workflow has no settings besides its secrets."""


class TeamsSecrets(KindSecrets):
    """Attributes: `url` of the workflow's trigger."""

    url: SecretUrl


class Teams:
    """A `Transport`. Cards of a workflow cannot be edited, so the end is a card of its own."""

    def __init__(
        self, settings: TeamsSettings, secrets: TeamsSecrets, services: TransportServices
    ) -> None:
        del settings
        self._url = secrets.url.get_secret_value()
        self._http = HttpSender(services)

    async def send(self, address: str, message: Notification) -> str | None:
        await self._http.post(self._url, posted_card(message))
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self.send(address, message)


def posted_card(message: Notification) -> dict[str, Any]:
    """Return the message of a workflow with one card.

    Text runs show their text unchanged, unlike text blocks, which interpret Markdown.
    """
    card = {
        "$schema": _SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            _text(message.subject, weight="Bolder"),
            *(_text(line) for line in message.body.splitlines()),
        ],
        "actions": [
            {"type": "Action.OpenUrl", "title": "Open the request", "url": message.link},
        ],
    }
    attachment = {"contentType": _CARD, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


def _origin(settings: TeamsSettings, secrets: TeamsSecrets) -> str:
    del settings
    return origin_of(secrets.url.get_secret_value())


TEAMS = TransportKind("teams", TeamsSettings, TeamsSecrets, Teams, _origin)
