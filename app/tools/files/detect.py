"""Which encoding a text is in, when nobody has said."""

from __future__ import annotations

import codecs
import re

from app.core.charsets import sure_encoding

_SAMPLE = 64 << 10
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # before UTF-16, whose little-endian mark begins it
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffd]")
_WIDE_SHARE = 0.3
# Bytes that are no UTF-8: among so many characters that are, or in so much ASCII, they are strays.
_CHARACTERS_A_STRAY = 4
_BYTES_A_STRAY = 500
STRAY = re.compile("[\udc80-\udcff]")
_STRAYS = re.compile("[\udc80-\udcff]+")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")


def detect(data: bytes) -> str:
    """`utf-8` unless a byte order mark or the bytes themselves speak for another encoding.

    Distinguishes UTF-8, UTF-16, UTF-32 and the encodings of East Asia. Encodings of one byte a
    letter are never taken for granted: nearly every text fits them all.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    if b"\x00" in sample:
        return _wide(sample)
    if _decodes(sample, "utf-8") or is_mostly_utf8(sample):
        return "utf-8"
    return sure_encoding(data) or "utf-8"


def is_mostly_utf8(data: bytes) -> bool:
    """Whether a text is UTF-8 but for some stray bytes, as a log is into which others write."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    else:
        return True
    # A character that was cut leaves up to three bytes.
    strays = sum(-(-len(run) // 3) for run in _STRAYS.findall(text))
    return strays * _BYTES_A_STRAY <= len(data) or (
        strays * _CHARACTERS_A_STRAY <= len(_BEYOND_ASCII.findall(text))
    )


def _wide(sample: bytes) -> str:
    """UTF-16 without a mark: text has its zeros nearly all on one side, and no controls."""
    sample = sample[: len(sample) // 2 * 2]
    count = max(1, len(sample) // 2)
    even, odd = sample[::2].count(0) / count, sample[1::2].count(0) / count
    if max(odd, even) < _WIDE_SHARE or min(odd, even) > max(odd, even) / 4:
        return "utf-8"
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    text = sample.decode(encoding, "replace")
    whole = text[:-1] or text  # the sample may end within a character
    return "utf-8" if _NOT_IN_TEXT.search(whole) else encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    # a character may be cut at the end of the sample
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True
