"""Telling encodings apart, and the size of images."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.file_signatures import image_type
from app.tools.files.detect import detect
from app.tools.files.image_size import image_size


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
