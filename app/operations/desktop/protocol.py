"""Protocol of the driver used by a desktop operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from app.core.errors import TollgateError


class DriverFailed(TollgateError):
    """Nothing was sent; `details["reason"]` is the reason as reported by operators."""

    code: ClassVar[str] = "driver_failed"

    def __init__(self, message: str, *, reason: str = "driver_failed") -> None:
        super().__init__(message, reason=reason)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.details["reason"])


class DeliveryUnknown(DriverFailed):
    """An error occurred while sending."""

    def __init__(self, message: str, *, reason: str = "outcome_unknown") -> None:
        super().__init__(message, reason=reason)


def _rebuild(kind: type[DriverFailed], message: str, reason: str) -> DriverFailed:
    return kind(message, reason=reason)


@dataclass(frozen=True, slots=True)
class TextJob:
    """Text for a group."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """Result of sending a text. `verified`: it was read back from the window before."""

    verified: bool
    detail: str = ""


Report = Callable[[str], Awaitable[None]]
Begin = Callable[[], Awaitable[None]]


class DesktopDriver(Protocol):
    """Sends texts in the windows of a chat application."""

    async def check(self) -> None:
        """Check that the driver works on this machine. Raises DriverFailed."""

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """Send one text.

        Args:
            begin: awaited right before sending; if it raises, nothing is sent, and typed text is
                removed from the window.
            report: called with each step.

        Raises:
            DriverFailed: nothing was sent.
            DeliveryUnknown: it may have been sent.
        """
