"""What a desktop operator needs of the desktop that it works on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from app.core.errors import TollgateError


class DriverFailed(TollgateError):
    """Nothing was sent; `details["reason"]` says why, as operators report it."""

    code: ClassVar[str] = "driver_failed"

    def __init__(self, message: str, *, reason: str = "driver_failed") -> None:
        super().__init__(message, reason=reason)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.details["reason"])


class DeliveryUnknown(DriverFailed):
    """Something went wrong while it was being sent."""

    def __init__(self, message: str, *, reason: str = "outcome_unknown") -> None:
        super().__init__(message, reason=reason)


def _rebuild(kind: type[DriverFailed], message: str, reason: str) -> DriverFailed:
    return kind(message, reason=reason)


@dataclass(frozen=True, slots=True)
class TextJob:
    """A text for a group."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """How a text was sent. `verified`: it was read back from the window before."""

    verified: bool
    detail: str = ""


Report = Callable[[str], Awaitable[None]]
Begin = Callable[[], Awaitable[None]]


class DesktopDriver(Protocol):
    """Sends texts in the windows of a chat application."""

    async def check(self) -> None:
        """Raises DriverFailed unless the driver can work here."""

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """Send one text.

        Args:
            begin: awaited at the last moment before the text goes out; when it raises, nothing
                is sent, and what was typed is taken out of the window again.
            report: told what is being done.

        Raises:
            DriverFailed: nothing was sent.
            DeliveryUnknown: it may have been sent.
        """
