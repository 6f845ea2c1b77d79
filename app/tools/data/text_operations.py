"""Operations of `text_process`: plain functions, each bounded in time and size."""

from __future__ import annotations

import base64
import binascii
import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from app.core.errors import ToolFailed
from app.tools.data.text_patterns import MAX_RESULT, too_large
from app.tools.files.text import newline_of, split_lines

if TYPE_CHECKING:
    import regex

_ELLIPSIS = "…"
_MAX_SLUG = 10_000

Operation = Callable[[str], dict[str, Any]]

# Bounds a cluster, even with an unlimited number of stacked marks.
_MAX_CLUSTER = 64


def _reverse(text: str) -> str:
    # ASCII letters need no lookup in the character database.
    if text.isascii() and "\r" not in text:
        return text[::-1]
    return "".join(reversed(list(graphemes(text))))


def _hash(text: str) -> dict[str, Any]:
    return {"result": hashlib.sha256(text.encode()).hexdigest(), "algorithm": "sha256"}


def _slug(text: str) -> str:
    """Return letters and digits of any script, without accents, with words joined by `-`.

    Raises:
        ToolFailed: `result_too_large`: ordering stacked accents takes quadratic time, and some
            letters expand to eighteen.
    """
    if len(text) > _MAX_SLUG:
        raise ToolFailed(
            f"slug accepts at most {_MAX_SLUG} characters: use only the title",
            code="result_too_large",
        )
    apart = unicodedata.normalize("NFKD", text.casefold())
    plain = unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))
    return "-".join("".join(c if c.isalnum() else " " for c in plain).split())


def _from_base64(text: str) -> str:
    plain = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        # Padding is often omitted.
        data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolFailed(f"text is not base64: {error}", code="not_base64") from None
    return _as_text(data)


def _from_url(text: str) -> str:
    return _as_text(unquote_to_bytes(text))


def _as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolFailed(
            f"the decoded data is not UTF-8 text (byte {error.start}), so it cannot be shown",
            code="not_text",
        ) from None


def _result(change: Callable[[str], str]) -> Operation:
    return lambda text: {"result": change(text)}


SIMPLE: Mapping[str, Operation] = MappingProxyType(
    {
        "count": lambda text: {"count": len(text)},
        "lines": lambda text: {"lines": len(text.splitlines())},
        "words": lambda text: {"words": len(text.split())},
        "upper": _result(str.upper),
        "lower": _result(str.lower),
        "reverse": _result(_reverse),
        "trim": _result(str.strip),
        "slug": _result(_slug),
        "hash": _hash,
        "base64_encode": _result(lambda text: base64.b64encode(text.encode()).decode()),
        "base64_decode": _result(_from_base64),
        "url_encode": _result(lambda text: quote(text, safe="")),
        "url_decode": _result(_from_url),
    }
)
"""Operations that only need the text."""


def dedupe_lines(text: str, *, ignore_case: bool) -> dict[str, Any]:
    """Remove repeated lines; the first of equal lines stays."""
    lines = _lines(text)
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(_key(line, ignore_case=ignore_case), line)
    kept = list(first.values())
    return {"result": _joined(kept, text), "removed": len(lines) - len(kept)}


def sort_lines(text: str, *, ignore_case: bool, descending: bool) -> dict[str, Any]:
    """Sort lines by code points; equal ones keep their order."""
    lines = sorted(_lines(text), key=partial(_key, ignore_case=ignore_case), reverse=descending)
    return {"result": _joined(lines, text)}


def replace(text: str, pattern: str, replacement: str) -> dict[str, Any]:
    """Replace every occurrence of the plain text `pattern`.

    Raises:
        ToolFailed: `result_too_large`.
    """
    count = text.count(pattern)
    if len(text) + count * (len(replacement) - len(pattern)) > MAX_RESULT:
        raise too_large()
    return {"result": text.replace(pattern, replacement), "replaced": count}


def shorten(text: str, limit: int) -> dict[str, Any]:
    """Return at most `limit` user-perceived characters; the last is `…` if truncated."""
    kept = list(islice(graphemes(text), limit + 1))
    if len(kept) <= limit:
        return {"result": text, "truncated": False}
    return {"result": "".join(kept[: limit - 1]) + _ELLIPSIS, "truncated": True}


def _lines(text: str) -> list[str]:
    return [line.rstrip("\n").removesuffix("\r") for line in split_lines(text)]


def _joined(lines: list[str], like: str) -> str:
    newline = newline_of(like)
    return newline.join(lines) + (newline if like.endswith("\n") else "")


def _key(line: str, *, ignore_case: bool) -> str:
    return line.casefold() if ignore_case else line


# User-perceived characters: a letter with its marks, a flag, a family of emoji.
#
# The pieces are Unicode's extended grapheme clusters.


def graphemes(text: str) -> Iterator[str]:
    """Yield the inseparable pieces of `text`; joined, they are `text`."""
    for match in _cluster().finditer(text):
        cluster = match[0]
        for at in range(0, len(cluster), _MAX_CLUSTER):
            yield cluster[at : at + _MAX_CLUSTER]


@cache
def _cluster() -> regex.Pattern[str]:
    # Imported here: it takes ten milliseconds, and few calls need it.
    import regex

    return regex.compile(r"\X")
