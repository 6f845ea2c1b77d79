"""A text file as tools see it, and back: encoding, byte order mark and ends of lines stay."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import ToolFailed
from app.tools.files.detect import STRAY, detect, is_mostly_utf8
from app.tools.files.text import decode, exact_codec, newline_of, refuse_binary, with_newlines

_MARK = "\ufeff"
_UTF8 = "utf-8"


@dataclass(frozen=True, slots=True)
class TextDocument:
    """The text of a file.

    Attributes:
        text: without a byte order mark; old Macs' ends of lines are `\\n` in it, and a byte that
            does not belong to it is a lone surrogate.
        encoding: its name, as results show it.
        codec: turns the text back into the same bytes, whatever the byte order.
        mark: the byte order mark, or nothing.
        has_returns: its lines end with `\\r` alone.
    """

    path: str
    text: str
    encoding: str
    codec: str
    mark: str
    has_returns: bool

    @property
    def strays(self) -> int:
        """How many bytes do not belong to the text."""
        return len(STRAY.findall(self.text)) if _has_strays(self.text) else 0

    def shown(self) -> str:
        r"""The text with a stray byte as `\xff`."""
        return with_escapes(self.text)

    def with_own_newlines(self, text: str) -> str:
        """`text` with the ends of lines that this file has, where it has some of one kind.

        Text that brings Windows line ends with it keeps them.
        """
        if "\n" not in self.text or "\r\n" in text:
            return text
        return with_newlines(text, newline_of(self.text))

    def encode(self, text: str) -> bytes:
        """The bytes of `text` in place of this one.

        Raises:
            ToolFailed: `wrong_encoding`: a character has no place in the encoding.
        """
        return self.encode_part(self.mark + text)

    def encode_part(self, text: str) -> bytes:
        """The bytes of `text` behind this one.

        Raises:
            ToolFailed: as `encode`.
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
    r"""`text` with each stray byte as `\xff`."""
    if not _has_strays(text):
        return text
    return STRAY.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def open_leniently(data: bytes, path: str) -> TextDocument:
    """As `open_document`, of any bytes: for showing what was there."""
    try:
        return open_document(data, None, path)
    except ToolFailed:
        return TextDocument(
            path, data.decode(_UTF8, "replace"), _UTF8, _UTF8, "", has_returns=False
        )


def open_document(data: bytes, encoding: str | None, path: str) -> TextDocument:
    """The text of a file in the encoding named, else in the one that its bytes speak for.

    Raises:
        ToolFailed: `binary_file` or `wrong_encoding`; the message says what may help.
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
    """As `open_document`, for a text that will be written back.

    Raises:
        ToolFailed: as that; `wrong_encoding` also when other bytes would change.
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
    # Forty times as fast as looking for them.
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _errors(codec: str) -> str:
    return "surrogateescape" if codec == _UTF8 else "strict"
