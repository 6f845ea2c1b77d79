"""Fetching for a page: what it may reach, and what comes back."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from app.core.errors import ToolFailed
from app.operations.screens.addresses import is_public
from app.operations.screens.fetching import Fetcher, check_url
from tests.operations.screens.web import Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
        *("100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"),
        *("64:ff9b::a9fe:a9fe", "2001:db8::1", "no address", ""),
    ],
)
def test_an_address_that_is_not_public_is_known(address: str):
    assert is_public(address) is False


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_a_public_address_is_known(address: str):
    assert is_public(address) is True


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0"]
)
async def test_this_machine_is_not_reached_however_it_is_written(site: Site, host: str):
    async with Fetcher(allow_private=False) as fetcher:
        with pytest.raises(ToolFailed) as caught:
            await fetcher.fetch("GET", f"http://{host}:{site.port}/", {}, None, 1000)
    assert caught.value.details["code"] == "address_refused"
    assert "screens.allow_private" in caught.value.message
    assert site.asked == []


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "chrome://version"),
        *("http://", "http:///x", "//example.org", "example.org", "http://[", "http://a:b"),
        *("http://user:secret@example.org/", "http://example.org:0/", "http://a:99999/"),
    ],
)
def test_what_is_no_web_address_is_refused(url: str):
    with pytest.raises(ToolFailed) as caught:
        check_url(url)
    assert caught.value.details["code"] == "invalid_url"


async def test_an_answer_comes_as_it_is_and_a_redirect_is_not_followed(site: Site):
    site.pages["/"] = (200, "text/html", b"<p>hello")
    site.pages["/away"] = (302, f"{site.url}/", b"")
    async with Fetcher(allow_private=True) as fetcher:
        answer = await fetcher.fetch("GET", f"{site.url}/", {"Accept": "x"}, None, 1000)
        away = await fetcher.fetch("GET", f"{site.url}/away", {}, None, 1000)
    assert (answer.status, answer.body) == (200, b"<p>hello")
    assert ("Content-Type", "text/html") in answer.headers
    assert (away.status, site.asked) == (302, ["/", "/away"])


async def test_a_large_answer_is_given_up(site: Site):
    site.pages["/"] = (200, "text/html", b"x" * 2000)
    async with Fetcher(allow_private=True) as fetcher:
        with pytest.raises(ToolFailed) as caught:
            await fetcher.fetch("GET", f"{site.url}/", {}, None, 1000)
    assert caught.value.details["code"] == "file_too_large"


async def test_a_server_that_is_not_there_is_an_error(site: Site):
    async with Fetcher(allow_private=True) as fetcher:
        with pytest.raises(ToolFailed) as caught:
            await fetcher.fetch("GET", "http://127.0.0.1:1/", {}, None, 1000)
    assert caught.value.details["code"] == "fetch_failed"


def test_what_is_compressed_is_unpacked_within_bounds():
    from app.operations.screens.fetching import _decoded

    assert _decoded(gzip.compress(b"hello"), "gzip", 100) == b"hello"
    with pytest.raises(ToolFailed, match="larger than 100 bytes"):
        _decoded(gzip.compress(b"0" * 10_000_000), "gzip", 100)
    with pytest.raises(ToolFailed, match="damaged"):
        _decoded(b"no gzip", "gzip", 100)
    with pytest.raises(ToolFailed, match="Unknown content encoding"):
        _decoded(b"x", "br", 100)
