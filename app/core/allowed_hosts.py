"""The list of hosts of a project, as administrators write it; `host_rules` says what a text means.

split_hosts("github.com:22,443, *.example.com") → ["github.com:22,443", "*.example.com"]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.core.host_rules import PRESET, HostRules, expand

MAX_TEXT = 500
NOT_WITH_PORTS = (
    "allowed_hosts cannot be used with tcp_ports, because a listed port is open to every host: "
    "leave one of them empty"
)
# A comma before a number continues the ports of a host.
_BETWEEN = re.compile(r"\s+|,(?![0-9]+(?:[,\s]|$))")


def split_hosts(text: str) -> list[str]:
    """Split one text into those of hosts, at spaces, and at commas that no port follows."""
    return [part for part in _BETWEEN.split(text) if part]


def canonical_hosts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts as they are stored and compared: each once, without optional parts.

    Raises:
        ValueError: a text is no rule, and the message names it; or there are too many ports.
    """
    found = tuple(dict.fromkeys(canonical_host(text) for text in texts))
    HostRules.of(found)
    return found


def canonical_host(text: str) -> str:
    """Return one text as it is stored and compared.

    Raises:
        ValueError: it is no rule; the message names it.
    """
    text = text.strip()
    (first, *_) = expand(text)
    return text if text.startswith(PRESET) else str(first)
