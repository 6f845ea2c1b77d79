"""Embeddings from a server with OpenAI's embeddings API.

Fields follow its public reference: `POST embeddings` with `model` and `input`; the response
contains `data[]` with `index` and `embedding`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, cast

import orjson
from pydantic import SecretStr

from app.config.memory import MemorySettings
from app.operations.embeddings.embedder import MAX_CHARS, EmbedderFailed, TextRefused, Vector

_CONNECT_S, _ANSWER_S = 5.0, 30.0
_MAX_NUMBERS = 8192
# A number has about twenty characters.
_MAX_PER_TEXT = _MAX_NUMBERS * 24
_TEXT_IS_AT_FAULT = frozenset({400, 413, 422})


class OpenAiEmbeddings:
    """`Embedder` over HTTP. A redirect counts as a failure: it would send the key elsewhere."""

    def __init__(self, base_url: str, model: str, key: SecretStr | None) -> None:
        self.model = model
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._key = key

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`."""
        fields = {"model": self.model, "input": [text[:MAX_CHARS] for text in texts]}
        status, body = await self._post(orjson.dumps(fields), len(texts) * _MAX_PER_TEXT + 65_536)
        if status in _TEXT_IS_AT_FAULT:
            raise TextRefused(f"status {status}")
        if status in (401, 403):
            raise EmbedderFailed("it refused TOLLGATE_MEMORY__EMBEDDINGS_KEY")
        if status != 200:
            raise EmbedderFailed(f"status {status}")
        return await asyncio.to_thread(_vectors, body, len(texts))

    async def _post(self, content: bytes, limit: int) -> tuple[int, bytes]:
        import httpx2

        # Compressed data could expand to gigabytes from one piece of the response.
        headers = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}"
        body = bytearray()
        try:
            async with (
                asyncio.timeout(_ANSWER_S),
                httpx2.AsyncClient(
                    trust_env=False, timeout=httpx2.Timeout(_ANSWER_S, connect=_CONNECT_S)
                ) as client,
                client.stream("POST", self._url, headers=headers, content=content) as response,
            ):
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > limit:
                        raise EmbedderFailed("its response is too large")
                return response.status_code, bytes(body)
        except (TimeoutError, httpx2.TimeoutException):
            raise EmbedderFailed("it timed out") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise EmbedderFailed(f"it is unreachable ({type(error).__name__})") from None


def embedder_of(memory: MemorySettings) -> OpenAiEmbeddings | None:
    """Return the configured embedder, if any."""
    if memory.embeddings_url is None:
        return None
    return OpenAiEmbeddings(memory.embeddings_url, memory.embeddings_model, memory.embeddings_key)


def _vectors(body: bytes, count: int) -> list[Vector]:
    """Return the vectors by their `index`; all or nothing."""
    try:
        answer = orjson.loads(body)
        items = {item["index"]: item["embedding"] for item in answer["data"]}
        vectors = [items[index] for index in range(count)]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise EmbedderFailed("its response has no `data[].embedding` for each text") from None
    if len({len(vector) if isinstance(vector, list) else 0 for vector in vectors}) != 1 or not all(
        map(_is_vector, vectors)
    ):
        raise EmbedderFailed(
            "its response contains invalid vectors, or vectors of different lengths"
        )
    return cast("list[Vector]", vectors)


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= _MAX_NUMBERS
        and all(isinstance(number, int | float) and math.isfinite(number) for number in value)
        and any(value)
    )
