"""Channels of kind `smtp`: mail to the address of a subscription, one thread per request."""

from __future__ import annotations

import re
import ssl
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
)
from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain, Notification
from app.core.field_problems import FieldError

if TYPE_CHECKING:
    from aiosmtplib import SMTPResponseException

TIMEOUT_S = 20.0
_MAX_ADDRESS = 254
_MAIL = re.compile(r"[!#-'*+\-./0-9=?A-Z^-~]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LATER = range(400, 500)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def mail_address(address: str) -> str:
    """Return a mail address.

    Raises:
        FieldError: it is not one, or contains characters that end a header.
    """
    problem = FieldError("must be a mail address such as ann@example.org", code="invalid_mail")
    if len(address) > _MAX_ADDRESS or not _MAIL.fullmatch(address):
        raise problem
    try:
        return Address(addr_spec=address).addr_spec
    except (MessageError, ValueError):
        raise problem from None


MailAddress = Annotated[str, AfterValidator(mail_address)]


class SmtpSettings(KindSettings):
    """Mail server and sender.

    Attributes:
        tls: `starttls` and `tls` check the server's certificate; `none` is for a server on this
            machine.
        username: omitted for a server that asks for none.
    """

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:\-]{1,253}$")]
    port: int = Field(default=587, ge=1, le=65_535)
    tls: Literal["starttls", "tls", "none"] = "starttls"
    sender: MailAddress
    sender_name: Annotated[str, Field(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")] = "Tollgate"
    username: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _hides_its_password(self) -> SmtpSettings:
        if self.tls == "none" and self.username is not None and self.host not in _LOOPBACK:
            raise FieldError(
                "username needs tls: the password would be sent in the clear", code="needs_tls"
            )
        return self


class SmtpSecrets(KindSecrets):
    """Attributes: `password` of `username`."""

    password: Annotated[SecretStr, Field(min_length=1, max_length=1000)] | None = None


class Smtp:
    """A `Transport`. The Message-ID stays the same over retries."""

    def __init__(
        self, settings: SmtpSettings, secrets: SmtpSecrets, services: TransportServices
    ) -> None:
        self._settings = settings
        self._clock = services.clock
        self._password = None if secrets.password is None else secrets.password.get_secret_value()

    async def send(self, address: str, message: Notification) -> str | None:
        # Imported on use: most services send no mail.
        import aiosmtplib

        settings = self._settings
        try:
            await aiosmtplib.send(
                mail_of(message, settings, address, self._clock.now()),
                # The name of this machine tells nobody anything, and looking it up may block.
                local_hostname=settings.sender.rpartition("@")[2],
                hostname=settings.host,
                port=settings.port,
                username=settings.username,
                password=self._password if settings.username else None,
                use_tls=settings.tls == "tls",
                start_tls=settings.tls == "starttls",
                timeout=TIMEOUT_S,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _refused(settings.host, error.recipients[0]) from None
        except aiosmtplib.SMTPResponseException as error:
            raise _refused(settings.host, error) from None
        except ssl.SSLError as error:
            # Before the first command of the mail.
            raise DeliveryFailed(f"{settings.host}: TLS failed ({error.reason})") from None
        except (aiosmtplib.SMTPConnectError, ConnectionRefusedError):
            raise DeliveryFailed(f"{settings.host} is not reachable") from None
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise DeliveryUncertain(
                f"{settings.host} did not answer ({type(error).__name__})"
            ) from None
        return None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self.send(address, message)


def mail_of(
    message: Notification, settings: SmtpSettings, address: str, moment: datetime
) -> EmailMessage:
    """Return the mail of a message.

    The library refuses line breaks in headers; addresses are checked when they are stored.
    """
    domain = settings.sender.rpartition("@")[2]
    root = f"<{_token(message.item_id)}@{domain}>"
    mail = EmailMessage(policy=SMTP)
    mail["From"] = Address(settings.sender_name, addr_spec=settings.sender)
    mail["To"] = Address(addr_spec=address)
    mail["Date"] = format_datetime(moment)
    mail["Subject"] = " ".join(message.subject.split())
    mail["Message-ID"] = f"<{_token(message.id)}@{domain}>"
    mail["In-Reply-To"] = root
    mail["References"] = root
    # Replies of machines would be answered by machines.
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n\n".join(part for part in (message.body, message.link) if part))
    return mail


def _token(text: str) -> str:
    return _UNSAFE.sub("-", text)[:120]


def _refused(host: str, error: SMTPResponseException) -> DeliveryFailed:
    later = error.code in _LATER
    return DeliveryFailed(f"{host} answered {error.code}", permanent=not later)


def _origin(settings: SmtpSettings, secrets: SmtpSecrets) -> str:
    del secrets
    return f"smtp://{settings.host}:{settings.port}"


SMTP_MAIL = TransportKind(
    "smtp", SmtpSettings, SmtpSecrets, Smtp, _origin, address=mail_address, needs_address=True
)
