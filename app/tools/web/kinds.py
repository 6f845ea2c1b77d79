"""Detection of a body's type, from the server's header and its first bytes."""

from __future__ import annotations

import re
from typing import Literal

from app.core.file_signatures import file_signature

Kind = Literal["html", "json", "pdf", "text", "binary"]

_HTML = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_LOOKED_AT = 8192
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TEXTS = frozenset(
    {
        *("application/xml", "application/javascript", "application/x-javascript"),
        *("application/yaml", "application/x-yaml", "application/toml", "application/sql"),
        *("application/x-sh", "application/x-ndjson", "application/graphql"),
    }
)


def media_type(content_type: str) -> str:
    """Return `text/html` for `text/html; charset=x`, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def kind_of(body: bytes, content_type: str) -> tuple[Kind, str]:
    """Return the kind, and its media type."""
    said = media_type(content_type)
    if b"%PDF-" in body[:1024] and (said == "application/pdf" or body.startswith(b"%PDF-")):
        return "pdf", "application/pdf"
    if (signature := file_signature(body)) is not None:
        return "binary", signature.media_type
    if not _is_text(body, content_type):
        return "binary", said or "application/octet-stream"
    if said in ("text/html", "application/xhtml+xml"):
        return "html", said
    if said.endswith(("/json", "+json")):
        return "json", said
    if said in ("", "application/octet-stream", "text/plain") and _HTML.match(body[:_LOOKED_AT]):
        return ("text", said) if said == "text/plain" else ("html", "text/html")
    if said.startswith("text/") or said in _TEXTS or said.endswith("+xml"):
        return "text", said
    if said in ("", "application/octet-stream"):
        return "text", "text/plain"
    return "binary", said


def _is_text(body: bytes, content_type: str) -> bool:
    head = body[:_LOOKED_AT]
    if head.startswith(_WIDE_MARKS) or "utf-16" in content_type.lower():
        return True
    zeros = head.count(0)
    if zeros * 3 >= len(head) > 0:
        # UTF-16 without a mark has zeros at every second position.
        return min(head[::2].count(0), head[1::2].count(0)) * 20 < zeros
    return zeros == 0
