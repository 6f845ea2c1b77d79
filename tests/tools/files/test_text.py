"""Encodings, binary content and line endings."""

import pytest

from app.core.errors import ToolFailed
from app.tools.files.text import decode, encode, exact_codec


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16", "utf-16-be", "utf-32"])
def test_text_survives_being_written_and_read(encoding):
    data = encode("中文 a\r\n", encoding)
    text = decode(data, encoding, "f")
    assert text.removeprefix("\ufeff") == "中文 a\r\n"
    assert text.encode(exact_codec(data, encoding)) == data


@pytest.mark.parametrize(
    ("data", "encoding", "code", "message"),
    [
        ("中文".encode("gbk"), "utf-8", "wrong_encoding", "at byte 0); try encoding='gb18030'"),
        (b"caf\xe9 ol\xe9!", "utf-8", "wrong_encoding", "try encoding="),
        (b"\xff\xfe", "ascii", "wrong_encoding", "not ascii text"),
        (b"a\x00b", "utf-8", "binary_file", "'f' is a binary file of 3 bytes"),
        (b"\x89PNG\r\n\x1a\n123", "utf-8", "binary_file", "'f' is a PNG image of 11 bytes"),
        (b"%PDF-1.7 text", "gbk", "binary_file", "a PDF document"),
        ("hi".encode("utf-16"), "utf-8", "binary_file", "try encoding='utf-16'"),
    ],
)
def test_bytes_that_are_no_such_text_are_refused_with_a_way_out(data, encoding, code, message):
    with pytest.raises(ToolFailed) as caught:
        decode(data, encoding, "f")
    assert caught.value.details["code"] == code
    assert message in caught.value.message


def test_a_character_without_a_place_in_the_encoding_is_named():
    with pytest.raises(ToolFailed, match=r"'é' \(character 1\) cannot be encoded in ascii"):
        encode("cé", "ascii")


def test_appended_text_has_no_byte_order_mark():
    assert encode("a", "utf-8-sig", append=True) == b"a"
    with pytest.raises(ToolFailed, match="append with 'utf-16-le' or 'utf-16-be'"):
        encode("a", "utf-16", append=True)
