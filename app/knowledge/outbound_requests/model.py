"""Named triggers: what is stored of them, and what may be shown."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from app.tools.automation.outbound_ports import Method

EVERYBODY = "*"
# Shorter parts of an address or of a header are words that stand elsewhere as well.
_OPAQUE_CHARS, _PART_CHARS = 20, 12
_TELLING = re.compile(r"key|token|secret|sig|auth|pass|pwd|code", re.IGNORECASE)
# Everybody says the same there; masked, it would be missing from every answer.
_HARMLESS = frozenset({"accept", "accept-language", "cache-control", "content-type", "user-agent"})
_PARTS = re.compile(r"[\s,;=:]+")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a trigger goes, and what it shows there. Nothing of it is shown to anybody.

    Attributes:
        url: with its path and query, which may be secrets as well.
    """

    url: str
    headers: Mapping[str, str]

    def secrets(self) -> Iterator[str]:
        """What must be masked wherever it stands."""
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
    """A request that agents may send by its name. Times are RFC 3339 in UTC.

    Attributes:
        origin: scheme, host and port of its address.
        header_names: whose values are sealed.
        sealed: its `Target`.
        body: JSON text that is sent; None for none.
        body_from_call: a call may send another body.
        free: nobody is asked before it runs.
        agents: ids of agents that may use it; `*` is everybody.
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
        """Whether an agent may use it."""
        return self.enabled and (EVERYBODY in self.agents or agent_id in self.agents)

    def shown(self) -> dict[str, Any]:
        """What the audit keeps."""
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
    """That of `Basic` credentials."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return
    try:
        yield base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return
