"""Requests of agents to addresses outside, and their service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

TRIGGERS = "triggers.allow"
"""An `OutboundRequestSender`; registered if an address is allowed or a trigger is stored."""

Method = Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]
BODILESS: tuple[Method, ...] = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class RequestInput:
    """Requested call: exactly one of `url` and `name` is set.

    Attributes:
        method, headers: for a request to `url`; a named trigger has its own.
    """

    url: str | None
    name: str | None
    method: Method
    headers: Mapping[str, str]
    body: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """Response of a request, safe to show.

    Attributes:
        url: source of the response; for a named trigger only its name.
        body: decoded, with known secrets masked, truncated.
        cut: the body was truncated.
    """

    url: str
    method: str
    status: int
    body: str
    cut: bool


@runtime_checkable
class OutboundRequestSender(Protocol):
    """Service `TRIGGERS`: sends the requests that the operator allows agents to send."""

    def confirmation_reason(self, name: str | None) -> str | None:
        """Return why such a call needs approval, or None for a trigger without approval."""

    async def send(self, wanted: RequestInput, *, agent_id: str | None) -> Answered:
        """Send a request, without following redirects.

        Raises:
            ToolFailed: `url_refused` (not listed by the operator), `invalid_url`,
                `invalid_headers`, `not_found` (the agent has no such trigger), `body_refused`, and
                errors of `WebAccess.request`.
        """
