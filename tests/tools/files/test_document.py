"""Text files as tools see them, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.charsets import Guess, guess
from app.core.errors import ToolFailed
from app.tools.files.document import open_document, open_exactly

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
