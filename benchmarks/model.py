"""Client of the scripted model: through the service, and as the floor through the SDK alone."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from benchmarks.served import PATIENCE_S, started, url_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

KEY = "sk-bench"


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Running `benchmarks.model_server`; its conversations have `turns` calls each."""

    url: str
    turns: int

    async def ended(self, conversations: int) -> float:
        """Wait for the end of so many conversations; return the seconds that they took."""
        seconds: float = await self._get(f"/ended/{conversations}")
        return seconds

    async def bodies(self) -> list[bytes]:
        """Return the requests of one whole conversation, as the service sent them."""
        texts: list[str] = await self._get("/bodies")
        return [text.encode() for text in texts]

    async def _get(self, path: str) -> Any:
        async with httpx2.AsyncClient(base_url=self.url, timeout=2 * PATIENCE_S) as client:
            answer = await client.get(path)
            return answer.raise_for_status().json()


@asynccontextmanager
async def scripted_model(turns: int) -> AsyncIterator[ScriptedModel]:
    """Run the model until the block ends."""
    words = (sys.executable, "-m", "benchmarks.model_server", str(turns))
    async with started(*words) as process:
        yield ScriptedModel(await url_of(process), turns)


@asynccontextmanager
async def sdk_alone(model: ScriptedModel) -> AsyncIterator[AsyncAnthropic]:
    """Return a client with the connection settings of the service."""
    # Imported here, as it takes a second and most benchmarks do not need it.
    import anthropic

    from app.agents.models.transport import client_options

    async with anthropic.AsyncAnthropic(
        api_key=KEY,
        base_url=model.url,
        max_retries=0,
        http_client=anthropic.DefaultAsyncHttpxClient(**client_options()),
    ) as client:
        yield client


async def converse(client: AsyncAnthropic, bodies: Sequence[bytes]) -> None:
    """Send the encoded requests of a conversation one after the other, and read the responses.

    Their events are split but not parsed, which is the least that a client can do.

    Raises:
        RuntimeError: a response has no end.
    """
    import anthropic

    kinds = anthropic.types
    for body in bodies:
        last = None
        async with await client.post(
            "/v1/messages",
            content=body,
            cast_to=kinds.Message,
            stream=True,
            stream_cls=anthropic.AsyncStream[kinds.RawMessageStreamEvent],
            options={"headers": {"content-type": "application/json"}},
        ) as stream:
            async for event in anthropic.AsyncStream.raw_events(stream.response):
                last = event.event
        if last != "message_stop":
            raise RuntimeError(f"a response ended with {last}")
