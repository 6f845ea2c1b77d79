"""Text files with preserved encoding, byte order mark and line endings."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from app.core.charsets import sure_encoding
from app.core.errors import ToolFailed
from app.tools.files.text import decode, exact_codec, newline_of, refuse_binary, with_newlines

_MARK = "\ufeff"
_UTF8 = "utf-8"

_SAMPLE = 64 << 10
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # UTF-32 precedes UTF-16, whose little-endian mark is a prefix of that of UTF-32.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffd]")
_WIDE_SHARE = 0.3
# UTF-8 text has at most one invalid byte per this many non-ASCII characters, or per this many
# bytes.
_CHARACTERS_A_STRAY = 4
_BYTES_A_STRAY = 500
STRAY = re.compile("[\udc80-\udcff]")
_STRAYS = re.compile("[\udc80-\udcff]+")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class TextDocument:
    """Text of a file.

    Attributes:
        text: without a byte order mark; line endings of old Macs are `\\n`, and an invalid byte is
            a lone surrogate.
        encoding: name of the encoding in results.
        codec: codec that restores the same bytes, whatever the byte order.
        mark: byte order mark, or empty.
        has_returns: lines end with a single `\\r`.
    """

    path: str
    text: str
    encoding: str
    codec: str
    mark: str
    has_returns: bool

    @property
    def strays(self) -> int:
        """Return the number of invalid bytes."""
        return len(STRAY.findall(self.text)) if _has_strays(self.text) else 0

    def shown(self) -> str:
        r"""Return the text with an invalid byte as `\xff`."""
        return with_escapes(self.text)

    def with_own_newlines(self, text: str) -> str:
        """Return `text` with the line endings of this file, if they are uniform.

        Windows line endings in `text` are preserved.
        """
        if "\n" not in self.text or "\r\n" in text:
            return text
        return with_newlines(text, newline_of(self.text))

    def encode(self, text: str) -> bytes:
        """Return the bytes of `text` as a replacement.

        Raises:
            ToolFailed: `wrong_encoding`: the encoding lacks a character.
        """
        return self.encode_part(self.mark + text)

    def encode_part(self, text: str) -> bytes:
        """Return the bytes of `text` for appending.

        Raises:
            ToolFailed: see `encode`.
        """
        if self.has_returns:
            text = text.replace("\r\n", "\n").replace("\n", "\r")
        try:
            return text.encode(self.codec, _errors(self.codec))
        except UnicodeEncodeError as error:
            missing = text[error.start]
        raise ToolFailed(
            f"{missing!r} cannot be encoded in {self.encoding}, the encoding of "
            f"{self.path!r}; remove it, or write the whole file with encoding='utf-8'",
            code="wrong_encoding",
            path=self.path,
        )


def with_escapes(text: str) -> str:
    r"""Return `text` with each invalid byte as `\xff`."""
    if not _has_strays(text):
        return text
    return STRAY.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def open_leniently(data: bytes, path: str) -> TextDocument:
    """Decode any bytes for display; see `open_document`."""
    try:
        return open_document(data, None, path)
    except ToolFailed:
        return TextDocument(
            path, data.decode(_UTF8, "replace"), _UTF8, _UTF8, "", has_returns=False
        )


def open_document(data: bytes, encoding: str | None, path: str) -> TextDocument:
    """Decode a file in the given encoding, or in the detected one.

    Raises:
        ToolFailed: `binary_file` or `wrong_encoding`; the message suggests a fix.
    """
    name = encoding or detect(data)
    codec = exact_codec(data, name)
    if encoding is None and codec == _UTF8 and is_mostly_utf8(data):
        refuse_binary(data, name, path)
        text = data.decode(_UTF8, _errors(_UTF8))
    else:
        text = decode(data, name, path)
    mark = _MARK if text.startswith(_MARK) else ""
    text = text.removeprefix(mark)
    has_returns = "\r" in text and "\n" not in text
    if has_returns:
        text = text.replace("\r", "\n")
    return TextDocument(path, text, name, codec, mark, has_returns=has_returns)


def open_exactly(data: bytes, encoding: str | None, path: str) -> TextDocument:
    """Decode a text that will be written back; see `open_document`.

    Raises:
        ToolFailed: see `open_document`; `wrong_encoding` also if other bytes would change.
    """
    document = open_document(data, encoding, path)
    if document.encode(document.text) != data:
        raise ToolFailed(
            f"{path!r} cannot be read and written as {document.encoding} without loss; "
            "specify its actual encoding",
            code="wrong_encoding",
        )
    return document


def _has_strays(text: str) -> bool:
    # Forty times as fast as searching for surrogates.
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _errors(codec: str) -> str:
    return "surrogateescape" if codec == _UTF8 else "strict"


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
    whole = text[:-1] or text  # The sample may end inside a character.
    return "utf-8" if _NOT_IN_TEXT.search(whole) else encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    # The sample may end inside a character.
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True
