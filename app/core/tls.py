"""Causes of failed TLS connections, from library messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

TlsTrouble = Literal[
    "expired", "not_yet_valid", "unknown_issuer", "other_name", "no_tls", "version", "certificate"
]

# The first match applies; patterns cover the messages of OpenSSL and libpq.
_WORDS: tuple[tuple[TlsTrouble, re.Pattern[str]], ...] = (
    ("expired", re.compile(r"certificate has expired|certificate.expired")),
    ("not_yet_valid", re.compile(r"certificate is not yet valid")),
    (
        "other_name",
        re.compile(
            r"hostname mismatch|ip address mismatch|does not match host ?name|not valid for '"
        ),
    ),
    (
        "unknown_issuer",
        re.compile(
            r"self.signed certificate|unable to get (?:local )?issuer|unknown.ca"
            r"|unable to verify the first certificate"
        ),
    ),
    (
        "version",
        re.compile(
            r"unsupported.protocol|protocol.version|no.protocols.available|version.too.low"
            r"|no.shared.cipher|handshake.failure|dh.key.too.small|key.too.(?:small|weak)"
        ),
    ),
    (
        "no_tls",
        re.compile(
            r"wrong.version.number|http.request|record.layer.failure|does not support ssl"
            r"|server doesn't support ssl|packet.length.too.long"
        ),
    ),
    ("certificate", re.compile(r"certificate")),
)
CLAUSES: Mapping[TlsTrouble, str] = MappingProxyType(
    {
        "expired": "its certificate has expired",
        "not_yet_valid": "its certificate is not valid yet; check the clocks of both machines",
        "other_name": "its certificate belongs to another host name",
        "unknown_issuer": "its certificate was issued by an authority that this machine does "
        "not trust",
        "version": "it uses a TLS version or cipher that is no longer accepted",
        "no_tls": "it does not use TLS on this port",
        "certificate": "its certificate is not accepted",
    }
)
"""Causes as clauses for people, without names and addresses."""


def tls_trouble(error: BaseException) -> TlsTrouble | None:
    """Return the TLS problem, or None if TLS was not the cause."""
    text = " ".join(_words(error)).lower()
    if not any(word in text for word in ("ssl", "tls", "certificate")):
        return None
    return next((trouble for trouble, words in _WORDS if words.search(text)), None)


def _words(error: BaseException | None, depth: int = 5) -> list[str]:
    """Return the messages of an error and its causes."""
    if error is None or depth == 0:
        return []
    return [str(error), *_words(error.__cause__ or error.__context__, depth - 1)]
