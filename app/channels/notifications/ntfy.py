"""Channels of kind `ntfy`: push messages to the topic of a subscription, with a link only."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, SecretStr

from app.channels.notifications.http_sender import HttpSender
from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
    WebUrlText,
    origin_of,
)
from app.channels.notifications.transport import Notification
from app.core.field_problems import FieldError

_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOKEN = re.compile(r"[!-~]{1,200}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_PRIORITIES = {"high": 5, "medium": 4}
_LOW = 2
_DEFAULT = 3
# ntfy turns longer messages into attachments.
_MAX_MESSAGE = 3500


class NtfySettings(KindSettings):
    """Attributes: `server` is the address of the ntfy server, without a topic."""

    server: WebUrlText = "https://ntfy.sh"


def _fits_header(value: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(value.get_secret_value()):
        raise FieldError("must be visible ASCII characters", code="invalid_token")
    return value


class NtfySecrets(KindSecrets):
    """Attributes: `token` publishes to protected topics."""

    token: Annotated[SecretStr, AfterValidator(_fits_header)] | None = None


class Ntfy:
    """A `Transport`. The sequence ID is the request's: each state replaces the previous one."""

    def __init__(
        self, settings: NtfySettings, secrets: NtfySecrets, services: TransportServices
    ) -> None:
        self._server = settings.server
        token = secrets.token
        self._headers = (
            {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
        )
        self._http = HttpSender(services)

    async def send(self, address: str, message: Notification) -> str | None:
        await self._publish(address, message, _PRIORITIES.get(message.risk or "", _DEFAULT))
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self._publish(address, message, _LOW)

    async def _publish(self, topic: str, message: Notification, priority: int) -> None:
        body: dict[str, Any] = {
            "topic": topic,
            "title": message.subject,
            "message": message.body[:_MAX_MESSAGE] or message.subject,
            "click": message.link,
            "priority": priority,
            "sequence_id": _UNSAFE.sub("-", message.item_id)[:64],
        }
        await self._http.post(self._server, body, headers=self._headers)


def topic_of(address: str) -> str:
    """Return the topic of a subscription.

    Raises:
        FieldError: it is not a topic of ntfy.
    """
    if not _TOPIC.fullmatch(address):
        raise FieldError(
            "must be a topic: 1 to 64 letters, digits, hyphens and underscores",
            code="invalid_topic",
        )
    return address


def _origin(settings: NtfySettings, secrets: NtfySecrets) -> str:
    del secrets
    return origin_of(settings.server)


NTFY = TransportKind(
    "ntfy", NtfySettings, NtfySecrets, Ntfy, _origin, address=topic_of, needs_address=True
)
