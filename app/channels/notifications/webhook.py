"""Channels of kind `webhook`: JSON to one address, signed as Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hmac
from hashlib import sha256
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field, SecretStr

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

_PREFIX = "whsec_"
_MIN_KEY, _MAX_KEY = 24, 64


def _is_key(value: SecretStr) -> SecretStr:
    key_of(value.get_secret_value())
    return value


def key_of(text: str) -> bytes:
    """Return the key of a `whsec_…` text.

    Raises:
        FieldError: it is not `whsec_` with 24 to 64 bytes in Base64.
    """
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(_PREFIX) or not _MIN_KEY <= len(key) <= _MAX_KEY:
        raise FieldError(
            f"must be `{_PREFIX}` followed by {_MIN_KEY} to {_MAX_KEY} bytes in Base64, such as "
            f'"{_PREFIX}$(openssl rand -base64 32)"',
            code="invalid_key",
        )
    return key


class SignedWebhookSettings(KindSettings):
    """A webhook has no settings besides its secrets."""


class SignedWebhookSecrets(KindSecrets):
    """Attributes: `url` receives the messages; `key` signs them (`whsec_…`)."""

    url: SecretUrl
    key: Annotated[SecretStr, Field(max_length=200), AfterValidator(_is_key)]


class SignedWebhook:
    """A `Transport`. The receiver deduplicates by `webhook-id`."""

    def __init__(
        self,
        settings: SignedWebhookSettings,
        secrets: SignedWebhookSecrets,
        services: TransportServices,
    ) -> None:
        del settings
        self._url = secrets.url.get_secret_value()
        self._key = key_of(secrets.key.get_secret_value())
        self._clock = services.clock
        self._http = HttpSender(services)

    async def send(self, address: str, message: Notification) -> str | None:
        body = orjson.dumps(payload_of(message))
        moment = str(int(self._clock.time()))
        await self._http.post(
            self._url,
            body,
            headers={
                "webhook-id": message.id,
                "webhook-timestamp": moment,
                "webhook-signature": f"v1,{signature(self._key, message.id, moment, body)}",
            },
        )
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self.send(address, message)


def signature(key: bytes, message_id: str, moment: str, body: bytes) -> str:
    """Return the signature of a message in Base64."""
    signed = b".".join((message_id.encode(), moment.encode(), body))
    return base64.b64encode(hmac.digest(key, signed, sha256)).decode()


def payload_of(message: Notification) -> dict[str, Any]:
    """Return the JSON of a message."""
    return {
        "type": f"notification.{message.event}",
        "data": {
            "id": message.id,
            "event": message.event,
            "kind": message.kind,
            "item_id": message.item_id,
            "subject": message.subject,
            "body": message.body,
            "link": message.link,
            "risk": message.risk,
            "expires_at": message.expires_at,
            "outcome": message.outcome,
        },
    }


def _origin(settings: SignedWebhookSettings, secrets: SignedWebhookSecrets) -> str:
    del settings
    return origin_of(secrets.url.get_secret_value())


WEBHOOK = TransportKind(
    "webhook", SignedWebhookSettings, SignedWebhookSecrets, SignedWebhook, _origin
)
