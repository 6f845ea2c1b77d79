"""Addresses allowed by the operator, parsed strictly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from app.core.errors import ConfigurationError, ToolFailed
from app.operations.web.urls import WebUrl, parse_url

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A server might decode twice, or treat a backslash as a slash.
_DOUBTFUL = re.compile(r"[\x00-\x1f\x7f%\\]")


@dataclass(frozen=True, slots=True)
class _AllowedAddress:
    """Allowed origin with a path prefix.

    Attributes:
        path: with a trailing slash, only paths below it; without, including itself.
    """

    origin: str
    path: str

    def covers(self, url: WebUrl) -> bool:
        path = url.target.partition("?")[0]
        if url.origin != self.origin:
            return False
        beneath = self.path if self.path.endswith("/") else f"{self.path}/"
        return path == self.path or path.startswith(beneath)


class AllowList:
    """Entries of `triggers.allow`."""

    def __init__(self, entries: Sequence[str]) -> None:
        """Parse the entries.

        Raises:
            ConfigurationError: an entry is not an address.
        """
        self._entries = tuple(_entry(text) for text in entries)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def check(self, url: str) -> tuple[WebUrl, str]:
        """Return the address, and the origin of the entry that allows it.

        Raises:
            ToolFailed: `invalid_url`, `url_refused`.
        """
        parsed = parse_url(url, any_port=True)
        if not _reads_alike(parsed.target.partition("?")[0]):
            raise ToolFailed(
                "The path of the url is ambiguous: write it without dot segments and "
                "without encoded slashes, backslashes, percent signs or control "
                "characters",
                code="url_refused",
            )
        for entry in self._entries:
            if entry.covers(parsed):
                return parsed, entry.origin
        place = f"{parsed.origin}{parsed.target.partition('?')[0]}"
        raise ToolFailed(
            f"Requests to {place[:300]} are not allowed; an operator can allow them "
            "with triggers.allow",
            code="url_refused",
        )


def _entry(text: str) -> _AllowedAddress:
    try:
        url = parse_url(text if "://" in text else f"https://{text}", any_port=True)
    except ToolFailed as error:
        raise ConfigurationError(f"triggers.allow: {error.message}") from None
    return _AllowedAddress(url.origin, url.target)


def _reads_alike(path: str) -> bool:
    """Return whether every server interprets the path equally."""
    if _BROKEN_ESCAPE.search(path):
        return False
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return False
    # Some servers treat look-alike characters as equal, and drop invisible ones.
    visible = "".join(mark for mark in decoded if unicodedata.category(mark) != "Cf")
    folded = unicodedata.normalize("NFKC", visible)
    if _DOUBTFUL.search(folded) or folded.count("/") != path.count("/"):
        return False
    segments = (segment.partition(";")[0].strip() for segment in folded.split("/"))
    return all(segment not in (".", "..") for segment in segments)
