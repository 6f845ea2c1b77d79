"""Addresses are read in one way, or refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import ToolFailed
from app.operations.web.urls import parse_url


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://Example.ORG", "http://example.org/"),
        ("https://example.org:443/a?b=c#d", "https://example.org/a?b=c"),
        ("http://example.org.:80/", "http://example.org/"),
        ("http://example.org/ü/%20?q=ä", "http://example.org/%C3%BC/%20?q=%C3%A4"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://１２７.０.０.１/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://ⓔxample.org/", "http://example.org/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
        ("  http://example.org/a  ", "http://example.org/a"),
    ],
)
def test_an_address_has_one_form(url: str, same: str):
    assert str(parse_url(url)) == same


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "gopher://a/"),
        *("chrome://version", "data:text/html,x", "http://", "http:///x", "//example.org"),
        *("example.org", "http://[", "http://a:b", "http://a:99999/", "http://example.org:0/"),
        *("http://user:secret@example.org/", "http://user@example.org/", "http://@a.b/"),
        *("http://a\\@b.c/", "http://a.b\\c", "http://a b.c/", "http://a.b/\r\nHost: x"),
        *("http://a.b/\x00", "http://a%2eb/", "http://%31%32%37.0.0.1/", "http://[fe80::1%25a]/"),
        *("http://[::1%lo]/", "http://[127.0.0.1]/", "http://1.2.3.4.5/", "http://256.1.1.1/"),
        *("http://a..b/", "http://.a/", "http://-a.b/", "http://a_b-.c/", "http://a.b/\ud800"),
        *("http://a.b:22/", "http://a.b:6379/", "http://a.b:25/", "", "http://" + "a" * 8000),
    ],
)
def test_what_is_no_web_address_is_refused(url: str):
    with pytest.raises(ToolFailed) as caught:
        parse_url(url)
    assert caught.value.details["code"] == "invalid_url"


def test_a_port_for_something_else_is_for_operators_only():
    assert parse_url("http://a.b:6000/", any_port=True).port == 6000


def test_a_relative_address_is_read_as_browsers_do():
    base = parse_url("https://a.b/c/d?e")
    assert str(parse_url("../f g", base)) == "https://a.b/f%20g"
    assert str(parse_url("//x.y/z", base)) == "https://x.y/z"


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str):
    for url in (text, f"http://{text}", f"http://a.b/{text}", f"http://[{text}]/"):
        with suppress(ToolFailed):
            parsed = parse_url(url)
            assert parse_url(str(parsed)) == parsed
            assert parsed.host.isascii()
