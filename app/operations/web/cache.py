"""HTTP cache of pages, in memory.

It is shared by all users, so it stores only responses that are not private, and only for requests
without personal data.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime

from app.core.clock import Clock
from app.operations.web.raw_response import RawResponse

_MAX_FRESH_S = 3600.0
_OVERHEAD = 1000
_DIRECTIVE = re.compile(r'\s*([a-zA-Z-]+)\s*(?:=\s*(?:"([^"]*)"|([^\s,]*)))?\s*(?:,|$)')
# Fields that a revalidation may update; the others describe the body, which is unchanged.
_RENEWED = frozenset({"age", "cache-control", "date", "etag", "expires", "last-modified"})


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """Response and its expiry, on the monotonic clock."""

    answer: RawResponse
    fresh_until: float

    def conditions(self) -> list[tuple[str, str]]:
        """Return headers for revalidation; empty without a validator."""
        found = []
        if (tag := self.answer.header("etag")) is not None:
            found.append(("If-None-Match", tag))
        if (date := self.answer.header("last-modified")) is not None:
            found.append(("If-Modified-Since", date))
        return found


class PageCache:
    """Responses by address; the least recently used are evicted first."""

    def __init__(self, clock: Clock, max_bytes: int) -> None:
        self._clock = clock
        self._room = self._max = max_bytes
        self._kept: OrderedDict[str, CachedResponse] = OrderedDict()

    def get(self, url: str) -> CachedResponse | None:
        """Return the stored response for `url`, fresh or not."""
        kept = self._kept.get(url)
        if kept is not None:
            self._kept.move_to_end(url)
        return kept

    def is_fresh(self, kept: CachedResponse) -> bool:
        """Return whether it may be used without revalidation."""
        return self._clock.monotonic() < kept.fresh_until

    def put(self, url: str, answer: RawResponse) -> None:
        """Store the response of a GET if allowed, replacing the previous one."""
        self.drop(url)
        said = directives(answer)
        if answer.status != 200 or said.keys() & {"no-store", "private"}:
            return
        if "*" in (answer.header("vary") or ""):
            return
        kept = CachedResponse(answer, self._clock.monotonic() + self._fresh_s(answer, said))
        usable = self.is_fresh(kept) or bool(kept.conditions())
        if not usable or _size(url, kept) > self._max // 4:
            return
        self._kept[url] = kept
        self._room -= _size(url, kept)
        while self._room < 0:
            self.drop(next(iter(self._kept)))

    def renew(self, url: str, kept: CachedResponse, answer: RawResponse) -> RawResponse:
        """Return the stored response after a 304 of the server."""
        new = {name: value for name, value in answer.headers if name in _RENEWED}
        old = [(name, value) for name, value in kept.answer.headers if name not in new]
        renewed = replace(kept.answer, headers=(*old, *new.items()))
        self.put(url, renewed)
        return renewed

    def drop(self, url: str) -> None:
        """Discard the response for `url`."""
        if (kept := self._kept.pop(url, None)) is not None:
            self._room += _size(url, kept)

    def _fresh_s(self, answer: RawResponse, said: Mapping[str, str]) -> float:
        if "no-cache" in said:
            return 0
        age = _seconds(answer.header("age")) or 0
        for name in ("s-maxage", "max-age"):
            if name in said:
                return min((_seconds(said[name]) or 0) - age, _MAX_FRESH_S)
        expires, date = answer.header("expires"), answer.header("date")
        if expires is None:
            return 0
        now = self._clock.time() if date is None else _moment(date)
        return min(_moment(expires) - now - age, _MAX_FRESH_S)


def directives(answer: RawResponse) -> dict[str, str]:
    """Return the directives of Cache-Control in lower case; of duplicates the first."""
    found: dict[str, str] = {}
    for name, value in answer.headers:
        if name == "cache-control":
            for match in _DIRECTIVE.finditer(value[:1000]):
                found.setdefault(match[1].lower(), match[2] or match[3] or "")
    return found


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None


def _moment(text: str) -> float:
    """Return the Unix time of an HTTP date; long ago if invalid."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return 0.0
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _size(url: str, kept: CachedResponse) -> int:
    headers = sum(len(name) + len(value) for name, value in kept.answer.headers)
    return len(kept.answer.body) + headers + len(url) + _OVERHEAD
