"""Declaration of a kind of channel: its settings, its secrets, its addresses and its transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from app.channels.notifications.chat_answers import ChatAnswers
from app.channels.notifications.offsets import OffsetStore, not_stored
from app.channels.notifications.transport import Transport
from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.operations.web.protocol import WebAccess
from app.operations.web.urls import parse_url

# Shorter parts of an address are words that occur elsewhere as well.
_OPAQUE_CHARS = 12


class KindSettings(BaseModel):
    """Base of a kind's settings, which administrators see. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KindSecrets(BaseModel):
    """Base of a kind's secrets: encrypted when stored, and never shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def given(self) -> dict[str, str]:
        """Return the secrets that are set, by field."""
        return {
            name: value.get_secret_value()
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), SecretStr)
        }

    def masked(self) -> Iterator[str]:
        """Yield every text that must not be shown."""
        for value in self.given().values():
            yield value
            if "://" in value:
                yield from _secret_parts(value)


@dataclass(frozen=True, slots=True)
class TransportServices:
    """What transports use of the service.

    Attributes:
        web: returns the web; requests to the stored address of a channel are `trusted`.
        offsets: returns where the position in a stream of updates is kept, by its name.
    """

    web: Callable[[], WebAccess]
    clock: Clock
    offsets: Callable[[str], OffsetStore] = not_stored


TransportFactory = Callable[[Any, Any, TransportServices], Transport]
"""Makes the transport of one channel from its settings, its secrets and the services."""
ListenerFactory = Callable[[Any, Any, TransportServices, ChatAnswers], Any]
"""Makes the `ChannelListener` of one channel, which passes on the answers that arrive."""


def no_address(address: str) -> str:
    """Return the empty address of a kind whose channels have one address each."""
    if address:
        raise FieldError("this kind of channel has one address: omit it", code="address_unexpected")
    return address


@dataclass(frozen=True, slots=True)
class TransportKind:
    """Kind of channel.

    Attributes:
        name: value of a channel's `kind`.
        settings, secrets: models of a channel's fields of these names.
        make: makes the transport of one channel.
        origin: returns where a channel sends to, without secrets; its secrets are not kept when
            this changes.
        address: returns the address of a subscription in its stored form; raises `FieldError`.
        needs_address: whether subscriptions must have an address.
        answers: whether messages can offer answers in place.
        listener: makes what receives the answers; None if they do not arrive by a connection.
    """

    name: str
    settings: type[KindSettings]
    secrets: type[KindSecrets]
    make: TransportFactory
    origin: Callable[[Any, Any], str]
    address: Callable[[str], str] = no_address
    needs_address: bool = False
    answers: bool = False
    listener: ListenerFactory | None = None


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address."""
    return parse_url(url, any_port=True).origin


def _is_url(value: str) -> str:
    try:
        parse_url(value, any_port=True)
    except ToolFailed as error:
        # Without the address, which may be secret.
        why = error.message.rpartition(": ")[2]
        raise FieldError(f"is not a reachable address: {why}", code="invalid_url") from None
    return value


def _is_secret_url(value: SecretStr) -> SecretStr:
    _is_url(value.get_secret_value())
    return value


WebUrlText = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_is_url)]
SecretUrl = Annotated[
    SecretStr, Field(min_length=1, max_length=8000), AfterValidator(_is_secret_url)
]


def _secret_parts(url: str) -> Iterator[str]:
    """Yield the parts of an address that identify who may post there."""
    parts = urlsplit(url)
    yield from (part for part in parts.path.split("/") if len(part) >= _OPAQUE_CHARS)
    yield from (value for _, value in parse_qsl(parts.query) if len(value) >= _OPAQUE_CHARS)
