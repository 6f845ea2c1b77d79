"""Which encoding a text is in, when nobody has said."""

from __future__ import annotations

import codecs
import re

_SAMPLE = 64 << 10
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # before UTF-16, whose little-endian mark begins it
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PAIRS = re.compile(rb"[\x81-\xfe][\x30-\xfe]")
_COMMON_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffd]")
_COMMON_SHARE = 0.8
_WIDE_SHARE = 0.3


def detect(data: bytes) -> str:
    """`utf-8` unless a byte order mark or the bytes themselves speak for another encoding.

    Told apart are UTF-8, UTF-16, UTF-32 and the Chinese encodings, of which GB18030 holds
    the others. Single-byte encodings are never guessed: every text fits them all.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    if b"\x00" in sample:
        return _wide(sample)
    if _decodes(sample, "utf-8"):
        return "utf-8"
    return "gb18030" if _decodes(sample, "gb18030") and _is_chinese(sample) else "utf-8"


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


def _is_chinese(sample: bytes) -> bool:
    """Whether the pairs are those of common characters, not accented Latin letters."""
    pairs = _PAIRS.findall(sample)
    common = sum(1 for pair in pairs if _COMMON_PAIR.fullmatch(pair))
    return bool(pairs) and common >= _COMMON_SHARE * len(pairs)
