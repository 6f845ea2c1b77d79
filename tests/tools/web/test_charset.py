"""The encoding of a page: what is said of it, and what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.web.charset import decode

CHINESE = "今天天气很好，我们去公园散步。这是一个测试页面。"
TAIWANESE = "這是一個測試頁面，今天天氣很好，我們去公園散步。"
JAPANESE = "これは日本語のテストページです。今日は天気がいい。"
RUSSIAN = "Эта страница рассказывает о том, как мы работаем."
GREEK = "Αυτή η σελίδα εξηγεί πώς εργαζόμαστε και τι μπορείτε να βρείτε."
HEBREW = "העמוד הזה מסביר איך אנחנו עובדים ומה אפשר למצוא בחנות שלנו. ברוכים הבאים!"
ARABIC = "تشرح هذه الصفحة كيف نعمل وما الذي يمكنك العثور عليه."
FRENCH = "Cette page dit ce que vous trouverez à la boutique, été comme hiver."
KOREAN = "한국어 테스트 페이지입니다. 오늘은 날씨가 좋습니다."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((CHINESE, "gbk"), (CHINESE, "gb18030"), (CHINESE, "utf-8"), (CHINESE, "utf-16")),
        *((CHINESE, "utf-8-sig"), (TAIWANESE, "big5"), (JAPANESE, "shift_jis")),
        *((JAPANESE, "euc_jp"), (KOREAN, "euc_kr"), ("naïve café, élan", "cp1252")),
        *((RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (RUSSIAN, "iso8859-5"), (GREEK, "cp1253")),
        *((HEBREW, "cp1255"), (ARABIC, "cp1256"), (ARABIC, "iso8859-6"), (FRENCH, "cp1252")),
        *(("plain words", "ascii"), ("plain words", "utf-16-le"), ("plain words", "utf-16-be")),
    ],
)
def test_a_page_that_says_nothing_is_read(text: str, encoding: str):
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        ("é".encode(), 'text/html; charset="utf-8"', "é"),
        (CHINESE.encode("gbk"), "text/html; charset=gb2312", CHINESE),
        (CHINESE.encode("gbk"), "text/html; charset=utf-8", CHINESE),
        (CHINESE.encode("gbk"), "text/html; charset=nonsense", CHINESE),
        (CHINESE.encode("gbk"), "text/html; charset=idna", CHINESE),
        ("é€".encode("cp1252"), "text/html; charset=latin1", "é€"),
        (KOREAN.encode("cp949"), "text/html; charset=euc-kr", KOREAN),
        (KOREAN.encode("utf-16-le"), "text/html; charset=utf-16le", KOREAN),
        ("é".encode(), "text/html; charset=utf-7", "é"),
        ("é".encode(), "text/html; charset=base64", "é"),
    ],
)
def test_what_the_server_says_counts_when_it_fits(body: bytes, content_type: str, text: str):
    assert decode(body, content_type)[0] == text


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="{}">',
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        "<?xml version='1.0' encoding='{}'?>",
    ],
)
def test_what_a_page_says_of_itself_counts(head: str):
    # Valid as UTF-8 as well, so that only the page can tell.
    body = head.format("iso-8859-2").encode() + "ĂŠ".encode("iso-8859-2")
    assert decode(body)[0].endswith("ĂŠ")
    wrong = head.format("utf-16").encode() + "é".encode()
    assert decode(wrong)[0].endswith("é")


def test_what_fits_nothing_is_read_all_the_same():
    text, name = decode(b"\x81\x8d\xff caf\xe9", "text/html; charset=utf-8")
    assert ("caf" in text, name) == (True, "utf-8")


@given(st.binary(max_size=300), st.text(max_size=40))
def test_any_bytes_are_read(body: bytes, said: str):
    text, name = decode(body, f"text/html; charset={said}")
    assert isinstance(text, str)
    assert name


def test_a_few_letters_speak_for_no_alphabet():
    assert decode("Привет".encode("cp1251")) == ("Ïðèâåò", "cp1252")
