"""Where a page sends its reader on: `<meta http-equiv="refresh">`."""

from __future__ import annotations

import html
import re
from urllib.parse import urldefrag, urljoin

MAX_DELAY_S = 10
"""A page that is to be read first waits longer."""
_LOOKED_AT = 64_000
_META = re.compile(r"<meta\b([^>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}("[^"]*"|'[^']*'|[^\s"'>]+)""")
_CONTENT = re.compile(
    r"""\s{0,9}(\d{0,9})(?:\.\d{0,9})?\s{0,9}[;,]?\s{0,9}(?:url\s{0,9}=\s{0,9})?(.*)""",
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN = (("<!--", "-->"), ("<script", "</script"), ("<noscript", "</noscript"))


def refresh_target(source: str, url: str) -> str | None:
    """The address that the page at `url` leads to at once; None when it leads to none."""
    head = source[:_LOOKED_AT]
    for begin, end in _HIDDEN:
        head = _without(head, begin, end)
    for match in _META.finditer(head):
        found = {
            name.lower(): html.unescape(value.strip("\"'"))
            for name, value in _ATTRIBUTE.findall(match[1])
        }
        if found.get("http-equiv", "").strip().lower() != "refresh":
            continue
        said = _CONTENT.match(found.get("content", ""))
        if said is None or int(said[1] or 0) > MAX_DELAY_S:
            return None
        target = said[2].strip().strip("\"'").strip()
        return _elsewhere(target, url)
    return None


def _elsewhere(target: str, url: str) -> str | None:
    """The whole address; None for the page itself."""
    if not target:
        return None
    try:
        whole = urldefrag(urljoin(url, target)).url
    except ValueError:
        return None
    if not whole.startswith(("http://", "https://")) or whole == urldefrag(url).url:
        return None
    return whole


def _without(text: str, begin: str, end: str) -> str:
    """`text` without what stands between the two, in any case of letters."""
    low = text.lower()
    pieces, at = [], 0
    while (start := low.find(begin, at)) >= 0:
        pieces.append(text[at:start])
        stop = low.find(end, start + len(begin))
        if stop < 0:
            return "".join(pieces)
        at = stop + len(end)
    return "".join([*pieces, text[at:]])
