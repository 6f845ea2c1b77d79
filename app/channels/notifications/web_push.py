"""Web Push to browsers: RFC 8030, encrypted by RFC 8291 and authorized by RFC 8292."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from app.channels.notifications.http_failures import retry_after, unreachable
from app.channels.notifications.transport import DeliveryFailed, Notification
from app.core.clock import Clock
from app.core.errors import InvalidInput, ToolFailed
from app.core.field_problems import FieldError, field_problem
from app.operations.web.protocol import WebAccess, WebResponse
from app.operations.web.urls import parse_url

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_SERVICE = "The push service"
_TIMEOUT_S, _MAX_ANSWER = 15.0, 64_000
_TOKEN_S = 12 * 3600
_DAY_S, _LONGEST_S = 86_400, 28 * 86_400
_ELLIPSIS = "…"


def _is_point(text: str) -> str:
    from app.channels.notifications.push_encryption import POINT_BYTES, decode, public_key

    try:
        point = decode(text)
        if len(point) == POINT_BYTES:
            public_key(point)
            return text
    except ValueError:
        pass
    raise FieldError("must be an uncompressed P-256 point in URL-safe Base64", code="bad_push_key")


def _is_secret(text: str) -> str:
    from app.channels.notifications.push_encryption import SECRET_BYTES, decode

    try:
        if len(decode(text)) == SECRET_BYTES:
            return text
    except ValueError:
        pass
    raise FieldError(f"must be {SECRET_BYTES} bytes in URL-safe Base64", code="bad_push_key")


class PushKeys(BaseModel):
    """Keys of a subscription, as browsers return them."""

    model_config = ConfigDict(frozen=True)

    p256dh: Annotated[str, Field(max_length=100), AfterValidator(_is_point)]
    auth: Annotated[str, Field(max_length=30), AfterValidator(_is_secret)]


class PushSubscription(BaseModel):
    """Address of one browser: the JSON of its `PushSubscription`.

    Attributes:
        endpoint: HTTPS address at the browser's push service; HTTP only at a trusted origin.
    """

    model_config = ConfigDict(frozen=True)

    endpoint: Annotated[str, Field(min_length=1, max_length=2048)]
    keys: PushKeys

    @field_validator("endpoint")
    @classmethod
    def _is_endpoint(cls, endpoint: str, info: ValidationInfo) -> str:
        trusted = info.context or ()
        try:
            origin = parse_url(endpoint, any_port=True).origin
            if origin in trusted:
                return endpoint
            url = parse_url(endpoint)
        except ToolFailed as error:
            raise FieldError(str(error), code="bad_push_endpoint") from None
        if url.scheme != "https":
            raise FieldError("must be an https address", code="bad_push_endpoint")
        return endpoint

    @classmethod
    def read(cls, address: str, trusted: Collection[str] = ()) -> PushSubscription:
        """Parse the JSON of a browser's subscription.

        Args:
            trusted: origins from the operator's settings.

        Raises:
            InvalidInput: it is invalid; the message lists every problem.
        """
        try:
            return cls.model_validate_json(address, context=trusted)
        except ValidationError as error:
            problems = [
                field_problem(".".join(["address", *map(str, item["loc"])]), item)
                for item in error.errors(include_url=False, include_input=False)
            ]
            message = "; ".join(f"{item['path']}: {item['message']}" for item in problems)
            raise InvalidInput(message, errors=problems) from None


class VapidKeys:
    """Key pair that identifies this installation to push services.

    Args:
        read: returns the stored seeds, newest first; creates one if there is none.
    """

    def __init__(self, read: Callable[[], Sequence[bytes]]) -> None:
        self._read = read

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        from app.channels.notifications.push_encryption import private_key

        return private_key(self._read()[0])

    @cached_property
    def public_key(self) -> str:
        """Key that browsers subscribe with: a point in URL-safe Base64.

        Raises:
            ConfigurationError: the key file cannot be used.
        """
        from app.channels.notifications.push_encryption import encode, point_of

        return encode(point_of(self._key.public_key()))

    def authorization(self, origin: str, expires_at: int, contact: str | None) -> str:
        """Return the header that authorizes requests to one push service.

        Args:
            expires_at: Unix time, at most a day ahead.
            contact: `mailto:` or `https:` address of the operator.
        """
        from app.channels.notifications.push_encryption import signed_token

        claims: dict[str, str | int] = {"aud": origin, "exp": expires_at}
        if contact is not None:
            claims["sub"] = contact
        return f"vapid t={signed_token(self._key, claims)}, k={self.public_key}"


class WebPush:
    """`Transport` to browsers. Its addresses are `PushSubscription` as JSON.

    The push service sees neither text nor request: messages are encrypted for the browser, and a
    newer message about a request replaces one that was not delivered yet.

    Args:
        web: returns the web.
        contact: `mailto:` or `https:` address that push services can write to.
        trusted: origins from the operator's settings that may have any address.
    """

    def __init__(
        self,
        web: Callable[[], WebAccess],
        keys: VapidKeys,
        clock: Clock,
        *,
        contact: str | None = None,
        trusted: Collection[str] = (),
    ) -> None:
        self._web = web
        self._keys = keys
        self._clock = clock
        self._contact = contact
        self._trusted = frozenset(trusted)

    async def send(self, address: str, message: Notification) -> str | None:
        """See the Protocol. A repeated message replaces the first one on the screen."""
        await self._push(address, message)
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        """See the Protocol. A message `closed` removes the notification from the screen."""
        del reference
        await self._push(address, message)

    async def _push(self, address: str, message: Notification) -> None:
        from app.channels.notifications.push_encryption import decode, encrypt

        try:
            subscription = PushSubscription.read(address, self._trusted)
        except InvalidInput as error:
            raise DeliveryFailed(str(error), permanent=True) from None
        keys = subscription.keys
        body = encrypt(payload(message), decode(keys.p256dh), decode(keys.auth))
        origin = parse_url(subscription.endpoint, any_port=True).origin
        try:
            response = await self._web().request(
                "POST",
                subscription.endpoint,
                headers=self._headers(origin, message),
                body=body,
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_ANSWER,
                trusted=origin if origin in self._trusted else None,
            )
        except ToolFailed as error:
            raise unreachable(_SERVICE, error) from None
        if not response.ok:
            raise _refusal(response, self._clock.now())

    def _headers(self, origin: str, message: Notification) -> dict[str, str]:
        now = self._clock.now()
        expires = int(now.timestamp()) + _TOKEN_S
        return {
            "Authorization": self._keys.authorization(origin, expires, self._contact),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_lifetime_s(message, now)),
            "Topic": topic(message.item_id),
            "Urgency": "high",
        }


def topic(item_id: str) -> str:
    """Return the topic of a request: 32 characters that reveal nothing about it."""
    from app.channels.notifications.push_encryption import encode

    return encode(sha256(b"tollgate push topic\0" + item_id.encode()).digest()[:24])


def payload(message: Notification) -> bytes:
    """Return what the service worker reads: JSON that fits into one push message.

    It has no link: the worker opens the page of the request at its own address.

    Raises:
        DeliveryFailed: it does not fit, even without its body and subject.
    """
    from app.channels.notifications.push_encryption import MAX_TEXT

    fields: dict[str, Any] = {
        "tag": message.item_id,
        "event": message.event,
        "kind": message.kind,
        "title": message.subject,
        "body": message.body,
    }
    for name in ("body", "title"):
        excess = len(orjson.dumps(fields)) - MAX_TEXT
        if excess > 0:
            fields[name] = _shortened(fields[name], excess)
    packed = orjson.dumps(fields)
    if len(packed) > MAX_TEXT:
        raise DeliveryFailed("The message is too long for Web Push", permanent=True)
    return packed


def _shortened(text: str, excess: int) -> str:
    """Return `text` with at least `excess` bytes less, or nothing."""
    size = len(text.encode()) - excess - len(_ELLIPSIS.encode())
    return text.encode()[:size].decode(errors="ignore") + _ELLIPSIS if size > 0 else ""


def _lifetime_s(message: Notification, now: datetime) -> int:
    """Return how long the push service keeps a message for a browser that is offline."""
    if message.expires_at is None or message.event == "closed":
        # The end must still remove a notification that was shown before.
        return _DAY_S
    left = (datetime.fromisoformat(message.expires_at).astimezone(UTC) - now).total_seconds()
    return max(0, min(int(left), _LONGEST_S))


def _refusal(response: WebResponse, now: datetime) -> DeliveryFailed:
    status = response.status
    if status in (404, 410):
        return DeliveryFailed("The browser has ended its subscription", permanent=True, gone=True)
    later = status in (408, 429) or status >= 500
    return DeliveryFailed(
        f"{_SERVICE} answered {status}",
        permanent=not later,
        retry_after_s=retry_after(response, now) if later else None,
    )
