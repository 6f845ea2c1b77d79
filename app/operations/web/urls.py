"""Strict parsing of web addresses.

Anything that two parsers could interpret differently is refused: the checked host is the connected
host.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from app.core.errors import ToolFailed
from app.operations.web.addresses import written_address

MAX_URL = 8000
PORTS = {"http": 80, "https": 443}
# Ports of services that interpret HTTP requests as commands, or are unrelated to pages.
_REFUSED_PORTS = frozenset(
    {
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
        *(179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556),
        *(563, 587, 601, 636, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2375),
        *(2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000, 6379),
        *(6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 10250, 11211, 27017),
    }
)
# Without `#`: a fragment is not sent.
_KEPT = "%/:=&?~+!$,;'@()*[]|"
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_CONTROL = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class WebUrl:
    """An http or https address.

    Attributes:
        host: in lower case ASCII without a trailing dot; an IPv6 address without brackets.
        target: path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Return host and port as in a request; default ports are omitted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse_url(url: str, base: WebUrl | None = None, *, any_port: bool = False) -> WebUrl:
    """Parse `url`, relative to `base` if given.

    Args:
        any_port: allow ports that are not for web pages.

    Raises:
        ToolFailed: `invalid_url`.
    """
    if not url or len(url) > MAX_URL:
        raise _no_url(url, f"an address must have 1 to {MAX_URL} characters")
    text = url.strip(" \t\r\n\f")
    if base is not None:
        # Others write spaces in a path and line breaks anywhere.
        text = re.sub(r"[\t\r\n]", "", text).replace(" ", "%20")
    if _CONTROL.search(text):
        raise _no_url(url, "it contains a space, a backslash or a control character")
    try:
        parts = urlsplit(urljoin(str(base), text) if base is not None else text)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise _no_url(url, "host or port cannot be parsed") from None
    if parts.scheme not in PORTS or not host:
        raise _no_url(url, "it is not an http or https address with a host")
    if "@" in parts.netloc:
        raise _no_url(url, "it must not contain a user name or password")
    if port is None:
        port = PORTS[parts.scheme]
    if port == 0 or (port in _REFUSED_PORTS and not any_port):
        raise _no_url(url, f"port {port} is not allowed for web pages")
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    target = (quote(parts.path, safe=_KEPT) or "/") + query
    return WebUrl(parts.scheme, _host(host, url, bracketed="[" in parts.netloc), port, target)


def _host(host: str, url: str, *, bracketed: bool) -> str:
    if bracketed or ":" in host:
        try:
            address = ipaddress.IPv6Address(host)
        except ValueError:
            address = None
        if address is None or "%" in host:
            raise _no_url(url, f"{host[:100]!r} is not a reachable IPv6 address")
        return str(address)
    try:
        name = _ascii(host).removesuffix(".")
        number = written_address(name)
    except ValueError:
        raise _no_url(url, f"{host[:100]!r} is not a valid host") from None
    if number is not None:
        return number
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise _no_url(url, f"{host[:100]!r} is not a valid host")
    return name


def _ascii(host: str) -> str:
    """Return the name in the form of DNS; full-width digits and dots become plain ones."""
    if host.isascii():
        return host.lower()
    import idna

    # `IDNAError` is a `UnicodeError`, which is a `ValueError`.
    return idna.encode(host, uts46=True, transitional=False).decode("ascii").lower()


def _no_url(url: str, why: str) -> ToolFailed:
    return ToolFailed(f"Invalid address {url[:200]!r}: {why}", code="invalid_url")
