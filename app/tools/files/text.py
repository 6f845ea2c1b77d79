"""Conversion between bytes and text: encodings, binary content, line endings."""

from __future__ import annotations

import codecs

from app.core.charsets import guess
from app.core.errors import ToolFailed
from app.core.file_signatures import file_signature

MAX_FILE_BYTES = 10 << 20
"""Maximum size of a file that is read or edited as text."""

_SNIFFED = 8192
_BYTE_ORDER_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


def decode(data: bytes, encoding: str, path: str) -> str:
    """Decode the text of a file; a byte order mark stays as its first character.

    Raises:
        ToolFailed: `binary_file` or `wrong_encoding`; the message suggests a fix.
    """
    refuse_binary(data, encoding, path)
    try:
        return data.decode(exact_codec(data, encoding))
    except UnicodeDecodeError as error:
        position, reason = error.start, error.reason
    except UnicodeError as error:
        position, reason = 0, str(error)
    raise ToolFailed(
        f"{path!r} is not {encoding} text ({reason} at byte {position}){_suggestion(data)}",
        code="wrong_encoding",
        path=path,
    )


def exact_codec(data: bytes, encoding: str) -> str:
    """Return the codec that converts `data` to text and back, including its byte order mark."""
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    for mark, codec in _BYTE_ORDER_MARKS.get(name, ()):
        if data.startswith(mark):
            return codec
    return f"{name}-le" if name in _BYTE_ORDER_MARKS else encoding


def encode(text: str, encoding: str, *, append: bool = False) -> bytes:
    """Return the bytes of `text`; with `append` without a byte order mark.

    Raises:
        ToolFailed: `wrong_encoding`: the encoding lacks a character, or appended text would need
            the byte order of the existing text.
    """
    name = codecs.lookup(encoding).name
    if append and name in _BYTE_ORDER_MARKS:
        raise ToolFailed(
            f"encoding {encoding!r} does not define the byte order; append with "
            f"'{name}-le' or '{name}-be'",
            code="wrong_encoding",
        )
    try:
        return text.encode("utf-8" if append and name == "utf-8-sig" else encoding)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        position = error.start
    raise ToolFailed(
        f"{bad!r} (character {position}) cannot be encoded in {encoding}; use encoding='utf-8'",
        code="wrong_encoding",
    )


def split_lines(text: str) -> list[str]:
    r"""Return lines with their endings; only `\n` and `\r\n` end one, as in editors."""
    *ended, rest = text.split("\n")
    lines = [f"{line}\n" for line in ended]
    return [*lines, rest] if rest else lines


def count_lines(text: str) -> int:
    """Return the number of lines that `split_lines` would return."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_start(text: str, number: int, position: int = 0) -> int:
    """Return where the line `number` lines after the one at `position` starts.

    Returns the end of `text` if there are fewer. Does not split: ten million empty lines would
    become a list of half a gigabyte.
    """
    for _ in range(number):
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    return position


def newline_of(text: str) -> str:
    """Return the line ending of most lines of `text`."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def with_newlines(text: str, newline: str) -> str:
    """Return `text` with every line ending replaced by `newline`."""
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)


def refuse_binary(data: bytes, encoding: str, path: str) -> None:
    """Refuse binary data.

    Raises:
        ToolFailed: `binary_file`.
    """
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    signature = file_signature(data)
    known = signature.label if signature is not None else ""
    if not known and (wide or b"\x00" not in data[:_SNIFFED]):
        return
    hint = ""
    if not known and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = "; it starts like UTF-16 text, try encoding='utf-16'"
    raise ToolFailed(
        f"{path!r} is {known or 'a binary file'} of {len(data)} bytes;"
        f" only text can be read and edited{hint}",
        code="binary_file",
        path=path,
    )


def _suggestion(data: bytes) -> str:
    found = guess(data)
    return "; specify its encoding" if found is None else f"; try encoding={found.encoding!r}"
