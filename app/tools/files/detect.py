"""Detection of a text's encoding."""

from __future__ import annotations

import codecs
import re

from app.core.charsets import sure_encoding

_SAMPLE = 64 << 10
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # before UTF-16, whose little-endian mark is a prefix of it
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffd]")
_WIDE_SHARE = 0.3
# Maximum share of invalid bytes in a text that still counts as UTF-8.
_CHARACTERS_A_STRAY = 4
_BYTES_A_STRAY = 500
STRAY = re.compile("[\udc80-\udcff]")
_STRAYS = re.compile("[\udc80-\udcff]+")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")


def detect(data: bytes) -> str:
    """Return `utf-8` unless a byte order mark or the bytes indicate another encoding.

    Distinguishes UTF-8, UTF-16, UTF-32 and the encodings of East Asia. Single-byte encodings are
    never returned: nearly every text is valid in all of them.
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
    """Return whether a text is UTF-8 except for some stray bytes, as in shared logs."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    else:
        return True
    # A truncated character leaves up to three bytes.
    strays = sum(-(-len(run) // 3) for run in _STRAYS.findall(text))
    return strays * _BYTES_A_STRAY <= len(data) or (
        strays * _CHARACTERS_A_STRAY <= len(_BEYOND_ASCII.findall(text))
    )


def _wide(sample: bytes) -> str:
    """Detect UTF-16 without a mark: zeros are nearly all on one side, and there are no controls."""
    sample = sample[: len(sample) // 2 * 2]
    count = max(1, len(sample) // 2)
    even, odd = sample[::2].count(0) / count, sample[1::2].count(0) / count
    if max(odd, even) < _WIDE_SHARE or min(odd, even) > max(odd, even) / 4:
        return "utf-8"
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    text = sample.decode(encoding, "replace")
    whole = text[:-1] or text  # the sample may end inside a character
    return "utf-8" if _NOT_IN_TEXT.search(whole) else encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    # a character may be truncated at the end of the sample
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True
