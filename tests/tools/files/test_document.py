"""Text files as tools see them, and back.

Telling encodings apart, and the size of images.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.charsets import Guess, guess
from app.core.errors import ToolFailed
from app.core.file_signatures import image_type
from app.tools.files.document import detect, open_document, open_exactly
from app.tools.files.image_size import image_size

LINES = st.text(st.sampled_from("ab\r\n\ufeff中é"), max_size=30)


@given(LINES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "gb18030"]))
def test_a_text_opened_and_written_back_is_the_same_bytes(text: str, encoding: str):
    data = text.encode(encoding)
    document = open_document(data, encoding, "f")
    assert document.encode(document.text) == data
    assert open_exactly(data, encoding, "f") == document


@given(st.binary(max_size=60))
def test_any_bytes_are_opened_faithfully_or_refused(data: bytes):
    try:
        document = open_exactly(data, None, "f")
    except ToolFailed:
        return
    assert document.encode(document.text) == data
    document.shown().encode()


@pytest.mark.parametrize(
    ("text", "encoding", "is_sure"),
    [
        ("数据库连接失败", "gb18030", True),
        ("這是一個測試檔案。", "big5hkscs", True),
        ("ファイルを開けません", "cp932", True),
        ("ファイルを開けません", "euc_jp", True),
        ("설정 파일을 읽습니다.", "cp949", True),
        ("Привет, мир", "cp1251", False),
        ("Привет, мир", "koi8_r", False),
        ("สวัสดีครับผม", "cp874", False),
        ("Größe und Maß", "cp1252", False),
    ],
)
def test_the_usual_letters_of_a_language_speak_for_an_encoding(
    text: str, encoding: str, *, is_sure: bool
):
    assert guess(text.encode(encoding)) == Guess(encoding, is_sure)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("naïve déjà vu", "cp1252"),
        ("Příliš žluťoučký kůň", "cp1250"),
        ("Türkçe ğüşiöç", "cp1254"),
        ("Καλημέρα κόσμε", "cp1253"),
        ("שלום עולם", "cp1255"),
        ("Straße", "cp850"),
        ("plain", "ascii"),
    ],
)
def test_where_letters_may_be_of_several_encodings_none_is_named(text: str, encoding: str):
    assert guess(text.encode(encoding)) is None


@pytest.mark.parametrize(
    ("text", "encoding", "detected"),
    [
        ("plain", "ascii", "utf-8"),
        ("", "utf-8", "utf-8"),
        ("été 中文", "utf-8", "utf-8"),
        ("中文，标点。", "gbk", "gb18030"),
        ("# 注释\nprint('你好')\n" * 9, "gb18030", "gb18030"),
        ("été déjà vu, señor Müller", "cp1252", "utf-8"),
        ("line\r\nline\r\n", "utf-16-le", "utf-16-le"),
        ("line\r\nline\r\n", "utf-16-be", "utf-16-be"),
        ("中", "utf-16", "utf-16"),
        ("中", "utf-32", "utf-32"),
    ],
)
def test_an_encoding_is_detected_from_the_bytes(text, encoding, detected):
    assert detect(text.encode(encoding)) == detected


def test_a_character_cut_by_the_sample_does_not_mislead():
    assert detect(("x" + "中" * 40_000).encode()) == "utf-8"
    assert detect(("x" + "中" * 40_000).encode("gbk")) == "gb18030"


@given(st.binary(max_size=200))
def test_any_bytes_have_an_encoding_python_knows(data: bytes):
    data.decode(detect(data), "replace")


VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + b"\xdf\x01\x00"
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640)


@pytest.mark.parametrize("data", [VP8X, VP8L, VP8, PNG, GIF, JPEG])
def test_the_size_of_an_image_stands_in_its_header(data):
    kind = image_type(data)
    assert kind is not None
    assert image_size(data, kind) == (640, 480)


@given(st.sampled_from([VP8X, VP8L, VP8, PNG, GIF, JPEG]), st.integers(0, 30), st.binary())
def test_a_damaged_header_never_raises(data: bytes, kept: int, rest: bytes):
    damaged = data[:kept] + rest
    size = image_size(damaged, image_type(damaged) or "image/jpeg")
    assert size is None or len(size) == 2
