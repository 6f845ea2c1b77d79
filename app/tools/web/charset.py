"""Decoding of web pages."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from app.core.charsets import sure_encoding

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META = re.compile(
    rb"<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE
)
_XML = re.compile(
    rb"^\s{0,99}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9_.-]{1,40})", re.IGNORECASE
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
# By long custom, these names refer to the larger encoding.
_LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
_LARGER |= {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "tis-620": "cp874"}
_ANY_BYTES = frozenset(
    {
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257"),
        *("cp1258", "koi8-r", "koi8-u", "mac-roman", "cp437", "cp850", "cp866", "cp874"),
        *(f"iso8859-{number}" for number in range(1, 17)),
    }
)
_NOT_LETTERS = frozenset(
    {
        "idna",
        "punycode",
        "undefined",
        "unicode_escape",
        "raw_unicode_escape",
        "mbcs",
        "oem",
        "utf-7",
    }
)
# Encodings of other alphabets, and Latin ones that must not be mistaken for them.
_ALPHABETS = (
    *("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5"),
    *("cp1253", "cp1255", "cp1256", "iso8859_6", "cp874"),
)
_LATIN = ("cp1250", "cp1252", "cp1254", "cp1257")
# With fewer letters the guess is too often wrong.
_ENOUGH = 32
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_CERTAIN = 3
_LOOKED_AT = 4096
_GUESSED_FROM = 20_000


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """Return the text and its encoding.

    A byte order mark decides; otherwise the first valid one of the header, the page's declaration,
    UTF-8, and detection by letters; otherwise the declared one, with invalid bytes replaced. A
    single-byte encoding is always valid, and servers often declare one by default: text whose
    non-ASCII letters are all valid UTF-8 is decoded as UTF-8.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace"), name.removesuffix("-sig")
    said = [name for name in _said(body, content_type) if name is not None]
    for name in dict.fromkeys([*_wide(body), *_surely(body, said, content_type), *said, "utf-8"]):
        try:
            return body.decode(name), name
        except (UnicodeError, ValueError):
            continue
    if "utf-8" in said and not _hardly_utf8(body):
        return body.decode("utf-8", "replace"), "utf-8"
    guessed = sure_encoding(body) or _alphabet(body)
    if guessed is not None:
        return body.decode(guessed, "replace"), guessed
    best = said[0] if said else "cp1252"
    if best == "utf-8" and _is_western(body):
        best = "cp1252"
    return body.decode(best, "replace"), best


def _surely(body: bytes, said: list[str], content_type: str) -> list[str]:
    """Return UTF-8 if it is more credible than the declaration.

    A server's declaration is often a default; overriding a page's own needs more letters.
    """
    if not said or (said[0] not in _ANY_BYTES and "utf-8" not in said):
        return []
    page_says_so = len(said) > 1 or _HEADER.search(content_type[:500]) is None
    needed = _CERTAIN if page_says_so and said[-1] in _ANY_BYTES else 1
    head = body[:_GUESSED_FROM].decode("utf-8", "ignore")
    return ["utf-8"] if sum(letter > "\x7f" for letter in head) >= needed else []


def _is_western(body: bytes) -> bool:
    try:
        body.decode("cp1252")
    except UnicodeError:
        return False
    return True


def _hardly_utf8(body: bytes) -> bool:
    """Return whether more non-ASCII letters are invalid in UTF-8 than valid."""
    text = body[:_GUESSED_FROM].decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    return wrong * 2 > sum(letter > "\x7f" for letter in text)


def _said(body: bytes, content_type: str) -> Iterator[str | None]:
    if (header := _HEADER.search(content_type[:500])) is not None:
        yield _known(header[1])
    head = body[:_LOOKED_AT]
    for pattern in (_META, _XML):
        if (found := pattern.search(head)) is not None:
            name = _known(found[1].decode("ascii"))
            # A page readable byte by byte is not UTF-16, whatever it declares.
            yield "utf-8" if name is not None and name.startswith("utf-16") else name


def _known(name: str) -> str | None:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # Codecs from text to text are not for pages.
    if not found._is_text_encoding or found.name.replace("-", "_") in _NOT_LETTERS:
        return None
    return _LARGER.get(found.name, found.name)


def _wide(body: bytes) -> list[str]:
    """Detect UTF-16 without a mark: in Western text every second byte is zero."""
    head = body[:_LOOKED_AT]
    if len(head) < 4 or head.count(0) * 4 < len(head):
        return []
    return ["utf-16-be" if head[::2].count(0) > head[1::2].count(0) else "utf-16-le"]


def _alphabet(body: bytes) -> str | None:
    """Return the encoding of a non-Latin alphabet; None if there are too few letters."""
    first = _BEYOND_ASCII.search(body)
    if first is None:
        return None
    sample = body[first.start() :][:_GUESSED_FROM]
    if len(_BEYOND_ASCII.findall(sample)) < _ENOUGH:
        return None
    # Imported here: it takes tens of milliseconds, and few pages need it.
    from charset_normalizer import from_bytes

    candidates = [*_ALPHABETS, *_LATIN]
    best = from_bytes(sample, cp_isolation=candidates, preemptive_behaviour=False).best()
    return best.encoding if best is not None and best.encoding in _ALPHABETS else None
