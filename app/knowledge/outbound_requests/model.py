"""Named triggers: stored and displayable fields."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from app.domain.outbound_requests import Method

EVERYBODY = "*"
# Shorter parts of an address or header are words that occur elsewhere as well.
_OPAQUE_CHARS, _PART_CHARS = 20, 12
_TELLING = re.compile(r"key|token|secret|sig|auth|pass|pwd|code", re.IGNORECASE)
# Common to all; masked, it would be missing from every response.
_HARMLESS = frozenset({"accept", "accept-language", "cache-control", "content-type", "user-agent"})
_PARTS = re.compile(r"[\s,;=:]+")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Target and credentials of a trigger, never shown.

    Attributes:
        url: including path and query, which may be secret as well.
    """

    url: str
    headers: Mapping[str, str]

    def secrets(self) -> Iterator[str]:
        """Yield all texts to mask."""
        for name, value in self.headers.items():
            if name.lower() not in _HARMLESS:
                yield value
                yield from (part for part in _PARTS.split(value) if len(part) >= _PART_CHARS)
                yield from _password(value)
        rest = self.url.partition("://")[2].partition("/")[2]
        path, _, query = rest.partition("?")
        yield from (part for part in path.split("/") if len(part) >= _OPAQUE_CHARS)
        for name, value in parse_qsl(query):
            if len(value) >= _OPAQUE_CHARS or _TELLING.search(name):
                yield value


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """Request that agents may send by name. Times are RFC 3339 in UTC.

    Attributes:
        origin: scheme, host and port of its address.
        header_names: names of headers with encrypted values.
        sealed: its encrypted `RequestTarget`.
        body: JSON text to send, or None.
        body_from_call: a call may replace the body.
        free: it needs no approval.
        agents: IDs of allowed agents; `*` for all.
    """

    id: str
    name: str = ""
    method: Method = "POST"
    origin: str = ""
    header_names: tuple[str, ...] = ()
    sealed: str = ""
    body: str | None = None
    body_from_call: bool = False
    free: bool = False
    agents: tuple[str, ...] = ()
    enabled: bool = True
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    def is_for(self, agent_id: str | None) -> bool:
        """Return whether an agent may use it."""
        return self.enabled and (EVERYBODY in self.agents or agent_id in self.agents)

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {
            "name": self.name,
            "method": self.method,
            "origin": self.origin,
            "header_names": list(self.header_names),
            "body": self.body,
            "body_from_call": self.body_from_call,
            "free": self.free,
            "agents": list(self.agents),
            "enabled": self.enabled,
        }


def _password(value: str) -> Iterator[str]:
    """Yield the password of `Basic` credentials."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return
    try:
        yield base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return
