"""What `remote_trigger` needs of the service, as a Protocol; the composition root binds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

TRIGGERS = "triggers.allow"
"""An `OutboundRequestSender`; registered while an address is allowed or a trigger is stored."""

Method = Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]
BODILESS: tuple[Method, ...] = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class RequestInput:
    """A request that a call asks for: one of `url` and `name` is set.

    Attributes:
        method, headers: of a request to a `url`; a named trigger has its own.
    """

    url: str | None
    name: str | None
    method: Method
    headers: Mapping[str, str]
    body: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back, fit to be shown.

    Attributes:
        url: where it came from; of a named trigger only its name.
        body: decoded, known secrets masked, cut.
        cut: there was more of the body.
    """

    url: str
    method: str
    status: int
    body: str
    cut: bool


@runtime_checkable
class OutboundRequestSender(Protocol):
    """The service `TRIGGERS`: sends what the operator lets agents send."""

    def confirmation_reason(self, name: str | None) -> str | None:
        """Why such a call needs a person's word; None for a trigger that is free."""

    async def send(self, wanted: RequestInput, *, agent_id: str | None) -> Answered:
        """Send it, and follow no redirect.

        Raises:
            ToolFailed: `url_refused` (the operator does not list it), `invalid_url`,
                `invalid_headers`, `not_found` (no such trigger for this agent),
                `body_refused`, and what `WebAccess.request` raises.
        """
