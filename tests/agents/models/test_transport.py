"""What a provider's HTTP server cannot do: lead the key away, or send without an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.models.openai import OpenAIModel, OpenAISettings
from app.agents.models.protocol import ModelClient
from app.agents.models.transport import client_options
from tests.agents.models.exchange import KEY, Waits, failure

Answer = Callable[[asyncio.StreamWriter], None]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server on loopback that gives one answer to everything; its address, what it was sent."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        answer(writer)
        writer.close()

    running = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = running.sockets[0].getsockname()[1]
    async with running:
        yield f"http://127.0.0.1:{port}", heads


def says(body: bytes, *headers: str) -> Answer:
    head = "\r\n".join(("HTTP/1.1 200 OK", "Connection: close", *headers, "", "")).encode()
    return lambda writer: writer.write(head + body)


def points_to(url: str, status: int) -> Answer:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {url}/v1/messages\r\nContent-Length: 0\r\n\r\n"
    return lambda writer: writer.write(head.encode())


def client_of(provider: str, url: str) -> ModelClient:
    if provider == "openai":
        return OpenAIModel(OpenAISettings(api_key=KEY, base_url=url), sleep=Waits())
    return AnthropicModel(AnthropicSettings(api_key=KEY, base_url=url), sleep=Waits())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_redirect_takes_neither_the_key_nor_the_conversation_elsewhere(
    provider: str, status: int
) -> None:
    async with (
        server(says(b"")) as (thief, stolen),
        server(points_to(thief, status)) as (url, heads),
    ):
        model = client_of(provider, url)
        _, failed = await failure(model)
        await model.aclose()
    assert stolen == []
    assert len(heads) == 1
    assert failed.details["provider_code"] == "redirected"
    assert failed.details["retryable"] is False
    assert f"{provider.upper()}_BASE_URL" in failed.message


async def read(url: str, **bounds: float) -> bytes:
    async with httpx2.AsyncClient(**client_options(**bounds)) as client:  # type: ignore[arg-type]
        return (await client.get(url)).content


async def test_an_answer_is_read_as_far_as_its_bound() -> None:
    async with server(says(b"x" * 100)) as (url, heads):
        assert await read(url, max_bytes=100) == b"x" * 100
        with pytest.raises(httpx2.ReadError, match="exceeds 99 bytes"):
            await read(url, max_bytes=99)
    assert b"accept-encoding: identity" in heads[0].lower()


async def test_a_server_that_keeps_sending_is_left_in_the_end() -> None:
    async with server(says(b"x")) as (url, _):
        with pytest.raises(httpx2.ReadError, match="more than -1 s"):
            await read(url, max_seconds=-1)


async def test_what_would_grow_when_it_is_unpacked_is_not_read() -> None:
    async with server(says(b"x", "Content-Encoding: gzip")) as (url, _):
        with pytest.raises(httpx2.RemoteProtocolError, match="compressed"):
            await read(url)
