"""Text files with preserved encoding, byte order mark and line endings."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import ToolFailed
from app.tools.files.detect import STRAY, detect, is_mostly_utf8
from app.tools.files.text import decode, exact_codec, newline_of, refuse_binary, with_newlines

_MARK = "\ufeff"
_UTF8 = "utf-8"


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
            "name its real encoding",
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
