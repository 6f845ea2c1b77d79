"""Which letters the bytes of a page mean."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

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
# What pages call these is, by long custom, the larger one.
_LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
_LARGER |= {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "tis-620": "cp874"}
_ANY_BYTES = frozenset(
    {
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257"),
        *("cp1258", "koi8-r", "koi8-u", "mac-roman", "cp437", "cp850", "cp866", "cp874"),
        *(f"iso8859-{number}" for number in range(1, 17)),
    }
)
_GUESSES = ("gb18030", "cp932", "euc_jp", "big5hkscs", "cp949")
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
_CERTAIN = 3
_TELLING = 1.2
_RARE = 0.3
# Where the tables of an encoding have the Han letters that are used most: first bytes.
_COMMON = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
    "big5hkscs": ("big5", 0xA4, 0xC6),
}
_LOOKED_AT = 4096
_GUESSED_FROM = 20_000


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The text, and the encoding that it was read in.

    A byte order mark decides; else the first that fits of the header, what the page says of
    itself, UTF-8, and the common encodings of East Asia; else what was said, with what is
    wrong replaced. An encoding in which every byte is a letter fits always, and servers name
    one that nobody has chosen: what is UTF-8 in all its letters beyond ASCII is that.
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
    best = max(_GUESSES, key=lambda name: _fit(body, name))
    if _fit(body, best) <= 0.5:
        best = said[0] if said else "cp1252"
        if best == "utf-8" and _is_western(body):
            best = "cp1252"
    return body.decode(best, "replace"), best


def _surely(body: bytes, said: list[str], content_type: str) -> list[str]:
    """UTF-8 where it is believed more than what was said.

    A server's word against it is often nobody's choice; a page's own needs some letters more.
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
    """Whether more letters beyond ASCII are wrong in UTF-8 than right."""
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
            # A page that can be read byte by byte is not in UTF-16, whatever it says.
            yield "utf-8" if name is not None and name.startswith("utf-16") else name


def _known(name: str) -> str | None:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # Codecs that turn text into other text are none for pages.
    if not found._is_text_encoding or found.name.replace("-", "_") in _NOT_LETTERS:
        return None
    return _LARGER.get(found.name, found.name)


def _wide(body: bytes) -> list[str]:
    """UTF-16 without a mark: in Western text every second byte is zero."""
    head = body[:_LOOKED_AT]
    if len(head) < 4 or head.count(0) * 4 < len(head):
        return []
    return ["utf-16-be" if head[::2].count(0) > head[1::2].count(0) else "utf-16-le"]


def _fit(body: bytes, name: str) -> float:
    """How well letters beyond ASCII fit, about 1 for the right encoding.

    Kana and Hangul come from the right decoder only. Han letters come from any, but common
    ones from the right one; Korean pages have hardly any of them.
    """
    text = codecs.getincrementaldecoder(name)("replace").decode(body[:_GUESSED_FROM])
    beyond = [letter for letter in text if letter > "\x7f"]
    worth = sum(_worth(letter, name) for letter in beyond) - text.count("\ufffd") * 4
    return worth / len(beyond) if beyond else 0.0


def _worth(letter: str, name: str) -> float:
    if "\u3040" <= letter <= "\u30ff" or "\uac00" <= letter <= "\ud7a3":
        return _TELLING
    if "\u3000" <= letter <= "\u303f" or "\uff01" <= letter <= "\uff5e":
        return 1.0
    if not "\u4e00" <= letter <= "\u9fff" or name not in _COMMON:
        return 0.0
    plain, first, last = _COMMON[name]
    written = letter.encode(plain, "ignore")
    return 1.0 if written and first <= written[0] <= last else _RARE
