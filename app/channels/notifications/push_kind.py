"""The kind `web_push`: browsers, with the key pair and the settings of the service."""

from __future__ import annotations

from collections.abc import Collection

from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
)
from app.channels.notifications.web_push import PushSubscription, VapidKeys, WebPush
from app.core.errors import InvalidInput
from app.core.field_problems import FieldError

WEB_PUSH = "web_push"


class PushChannelSettings(KindSettings):
    """Web Push has no settings of a channel: those of the service apply."""


class PushChannelSecrets(KindSecrets):
    """Web Push has no secrets of a channel: the key pair of the service applies."""


def web_push_kind(
    keys: VapidKeys, *, contact: str | None, trusted: Collection[str]
) -> TransportKind:
    """Return the kind.

    Args:
        contact: `mailto:` or `https:` address that push services can write to.
        trusted: origins that may have any address.
    """

    def make(
        settings: PushChannelSettings, secrets: PushChannelSecrets, services: TransportServices
    ) -> WebPush:
        del settings, secrets
        return WebPush(services.web, keys, services.clock, contact=contact, trusted=trusted)

    def address(text: str) -> str:
        try:
            PushSubscription.read(text, trusted)
        except InvalidInput as error:
            raise FieldError(error.message, code="bad_push_endpoint") from None
        return text

    return TransportKind(
        name=WEB_PUSH,
        settings=PushChannelSettings,
        secrets=PushChannelSecrets,
        make=make,
        origin=lambda settings, secrets: "",
        address=address,
        needs_address=True,
    )
