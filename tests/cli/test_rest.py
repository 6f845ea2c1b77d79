"""What commands send, and to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from app.cli.client import WsClient
from app.cli.desktop_link import checked_address, connect
from app.cli.rest import lines_of, request
from app.cli.service_errors import CommandRefused, ConnectionFailed, checked_token, checked_url
from app.core.errors import InvalidInput
from tests.cli.foreign_server import Answering, answering


@pytest.fixture
def redirecting(elsewhere: Answering) -> Iterator[Answering]:
    with answering(elsewhere.url) as server:
        yield server


async def test_a_redirect_takes_no_token_to_another_address(
    redirecting: Answering, elsewhere: Answering
):
    with pytest.raises(CommandRefused, match=f"redirects to {elsewhere.url}"):
        await request(redirecting.url, "/me", token="tg_mine")
    with pytest.raises(CommandRefused, match=f"redirects to {elsewhere.url}"):
        await asyncio.to_thread(
            lambda: list(lines_of(redirecting.url, "/admin/memory/export", token="tg_mine"))
        )
    with pytest.raises(ConnectionFailed, match="307"):
        await WsClient(redirecting.url, "tg_mine").connect()
    with pytest.raises(Exception, match="307"):
        await connect(redirecting.url, "tg_mine")

    assert sum("tg_mine" in text for text in redirecting.seen) == 3
    assert elsewhere.seen == []


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:8420", "ftp://127.0.0.1", "http://", "http://:80", "http://[::1"),
        *("http://127.0.0.1:99999", "http://127.0.0.1:abc", "http://127.0.0.1:0"),
        *("http://a b", "http://a\nb", "http://127.0.0.1/?x=1", "http://127.0.0.1#x"),
    ],
)
def test_what_is_no_address_is_said_in_one_sentence(url: str):
    with pytest.raises(InvalidInput, match="use http://host:port"):
        checked_url(url)
    with pytest.raises(InvalidInput, match="use wss://host:port"):
        checked_address(url, insecure=True)


def test_a_password_in_an_address_is_not_shown():
    with pytest.raises(InvalidInput, match="TOLLGATE_TOKEN") as refused:
        checked_url("https://ann:geheim@tollgate.example")
    assert "geheim" not in refused.value.message


@pytest.mark.parametrize("token", ["two words", "tg_a\nb", "tg_ü", "tg_\x7f"])
async def test_a_token_that_cannot_be_sent_is_not_shown(token: str, elsewhere: Answering):
    with pytest.raises(InvalidInput) as refused:
        await request(elsewhere.url, "/me", token=token)
    assert token not in refused.value.message
    assert elsewhere.seen == []
    assert checked_token("tg_A-z.09~") == "tg_A-z.09~"
