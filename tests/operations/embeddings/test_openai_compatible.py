"""The embeddings API: what is asked, and what answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from app.operations.embeddings.embedder import MAX_CHARS, EmbedderFailed, TextRefused
from app.operations.embeddings.openai_compatible import OpenAiEmbeddings
from tests.support.model_api import Maker, making

KEY = "sk-very-secret-key-1234567890"


@pytest.fixture
async def server() -> AsyncIterator[Maker]:
    async with making() as maker:
        yield maker


async def embed(server: Maker, *texts: str) -> Any:
    return await OpenAiEmbeddings(server.url, "small", SecretStr(KEY)).embed(texts)


def answered(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}


async def test_texts_are_sent_and_vectors_come_back_in_their_order(server: Maker):
    server.answer = {"data": list(reversed(answered([1, 0.5], [0, -1])["data"]))}
    assert await embed(server, "one", "x" * (MAX_CHARS + 5)) == [[1, 0.5], [0, -1]]
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json() == {"model": "small", "input": ["one", "x" * MAX_CHARS]}


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_text_that_is_refused_is_distinguished_from_a_server_that_fails(
    server: Maker, status: int
):
    server.status = status
    with pytest.raises(TextRefused):
        await embed(server, "one")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_a_server_that_fails_says_nothing_of_the_key(server: Maker, status: int):
    server.status, server.answer = status, {"error": {"message": f"bad key {KEY}"}}
    with pytest.raises(EmbedderFailed) as failure:
        await embed(server, "one")
    assert KEY not in str(failure.value)


async def test_a_redirect_takes_the_key_nowhere(server: Maker):
    async with making() as other:
        server.status, server.location = 307, f"{other.url}/embeddings"
        with pytest.raises(EmbedderFailed, match="307"):
            await embed(server, "one")
        assert other.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        b"no JSON",
        [],
        {"data": None},
        {"data": [{"index": 0}]},
        answered([1.0]),
        answered([1.0], [1.0, 2.0]),
        answered([], []),
        answered([0, 0], [1, 1]),
        answered(["1"], ["2"]),
        answered([1.0], None),
        answered([1.0] * 9000, [1.0] * 9000),
        b'{"data":[{"index":0,"embedding":[1e999]},{"index":1,"embedding":[1]}]}',
    ],
    ids=repr,
)
async def test_an_answer_that_cannot_be_used_is_a_failure(server: Maker, answer: Any):
    server.answer = answer
    with pytest.raises(EmbedderFailed):
        await embed(server, "one", "two")


async def test_an_endless_answer_is_cut_off(server: Maker):
    server.endless = True
    with pytest.raises(EmbedderFailed, match="too large"):
        await embed(server, "one")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://[::/v1", "http://a:b:c/v1"])
async def test_nobody_there_is_a_failure(url: str):
    with pytest.raises(EmbedderFailed, match="is unreachable"):
        await OpenAiEmbeddings(url, "small", None).embed(["one"])
