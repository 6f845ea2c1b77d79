"""Claude through Anthropic's SDK.

The SDK brings authentication, connections and the reading of server-sent events. Its
import costs seconds, so it waits for the first request. Retrying is done here: the
SDK never retries a stream that fails after its headers, it would multiply with a
second budget, and it sleeps as long as a `retry-after` says.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from app.agents.models.assembly import MalformedStream, MessageAssembler, parse_event
from app.agents.models.conversion import request_arguments
from app.agents.models.failures import (
    ProviderFailure,
    http_failure,
    model_failed,
    stream_failure,
)
from app.agents.models.protocol import ModelEvent, ModelRequest
from app.core.errors import ConfigurationError

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

_CONNECT_SECONDS = 5.0
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 8.0
_LONGEST_WAIT = 60.0

_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class AnthropicSettings:
    """How to reach the provider.

    Attributes:
        api_key: white space around it is dropped.
        base_url: None reads ANTHROPIC_BASE_URL, then takes Anthropic's own.
        max_retries: of one model request, after its first attempt; 0 tries once.
        timeout: seconds without a byte before an attempt counts as failed.
        cache_prompts: ask the provider to cache the conversation so far.

    Raises (on creation): ConfigurationError naming the setting.
    """

    api_key: str = field(repr=False)
    base_url: str | None = None
    max_retries: int = 2
    timeout: float = 600.0
    cache_prompts: bool = True

    def __post_init__(self) -> None:
        key = self.api_key.strip()
        if not key or not key.isascii() or not key.isprintable():
            raise ConfigurationError(
                "ANTHROPIC_API_KEY is empty or holds characters that a header cannot carry:"
                " copy it again.",
                setting="ANTHROPIC_API_KEY",
            )
        object.__setattr__(self, "api_key", key)
        if self.base_url is not None and not _is_http_url(self.base_url):
            raise ConfigurationError(
                "ANTHROPIC_BASE_URL is not an http(s) URL: write it like https://host.example.",
                setting="ANTHROPIC_BASE_URL",
            )
        if self.max_retries < 0:
            raise ConfigurationError(
                f"max_retries is {self.max_retries}: it must be 0 or more", setting="max_retries"
            )
        if self.timeout <= 0:
            raise ConfigurationError(
                f"timeout is {self.timeout}: it must be more than 0 seconds", setting="timeout"
            )


class AnthropicModel:
    """A `ModelClient`. `sleep` waits between attempts; tests pass one that does not."""

    def __init__(
        self,
        settings: AnthropicSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._client: AsyncAnthropic | None = None
        self._connecting = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`. An attempt is repeated only while nothing was yielded."""
        client = await self._connected()
        attempt = 0
        while True:
            yielded = False
            try:
                async with aclosing(self._attempt(client, request)) as events:
                    async for event in events:
                        yielded = True
                        yield event
            except ProviderFailure as failure:
                wait = _wait_before(attempt + 1, failure)
                if yielded or wait is None or attempt >= self._settings.max_retries:
                    # The SDK's errors hold the request with its key, so none is chained.
                    raise model_failed(failure, self._settings.api_key) from None
            else:
                return
            attempt += 1
            await self._sleep(wait)

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> AsyncAnthropic:
        if self._client is None:
            async with self._connecting:
                if self._client is None:
                    # The import and the certificate store take seconds of blocking work.
                    self._client = await asyncio.to_thread(_connect, self._settings)
        return self._client

    async def _attempt(
        self, client: AsyncAnthropic, request: ModelRequest
    ) -> AsyncGenerator[ModelEvent, None]:
        import anthropic
        import httpx2

        assembler = MessageAssembler(request.model)
        arguments = request_arguments(request, cache_prompts=self._settings.cache_prompts)
        request_id: str | None = None
        try:
            async with client.messages.with_streaming_response.create(
                **arguments, stream=True
            ) as response:
                _require_event_stream(response.headers.get("content-type", ""))
                request_id = response.headers.get("request-id")
                async for sse in anthropic.AsyncStream.raw_events(response.http_response):
                    if sse.event == "error":
                        raise stream_failure(
                            parse_event(sse.data), response.status_code, request_id
                        )
                    event = assembler.feed(sse.event or "", sse.data)
                    if event is not None:
                        yield event
        except (
            anthropic.APIStatusError,
            anthropic.APIConnectionError,
            httpx2.HTTPError,
            MalformedStream,
            UnicodeDecodeError,
        ) as error:
            # What breaks after the model has ended takes nothing from its answer.
            if assembler.completed() is None:
                raise _provider_failure(error, request_id) from None
        completed = assembler.completed(request_id)
        if completed is None:
            raise _cut("no stop reason arrived", request_id)
        yield completed


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _connect(settings: AnthropicSettings) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic, Timeout

    return AsyncAnthropic(
        api_key=settings.api_key,
        base_url=settings.base_url,
        max_retries=0,
        timeout=Timeout(settings.timeout, connect=min(_CONNECT_SECONDS, settings.timeout)),
    )


def _wait_before(attempt: int, failure: ProviderFailure) -> float | None:
    """Seconds to wait before `attempt` (1 is the first repetition); None: do not repeat."""
    if not failure.retryable:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= _LONGEST_WAIT else None
    longest = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** (attempt - 1))
    return _random.uniform(longest / 2, longest)


def _require_event_stream(content_type: str) -> None:
    if not content_type.lower().startswith("text/event-stream"):
        raise ProviderFailure("not_a_stream", 200, f"it sent {content_type or 'no type'!r}")


def _status_failure(error: APIStatusError) -> ProviderFailure:
    # A gateway may put anything where the SDK's types promise text.
    kind, reason = cast("tuple[object, object]", (error.type, error.api_message))
    return http_failure(
        error.status_code,
        kind if isinstance(kind, str) else None,
        reason if isinstance(reason, str) else "",
        error.request_id,
        error.response.headers,
    )


def _provider_failure(error: Exception, request_id: str | None) -> ProviderFailure:
    import anthropic
    import httpx2

    match error:
        case anthropic.APIStatusError():
            return _status_failure(error)
        case anthropic.APITimeoutError():
            return ProviderFailure("timeout_error", None, retryable=True)
        case anthropic.APIConnectionError():
            reason = str(error.__cause__ or error)
            return ProviderFailure("connection_failed", None, reason, retryable=True)
        case httpx2.TimeoutException():
            return ProviderFailure("timeout_error", 200, "", retryable=True, request_id=request_id)
        case httpx2.HTTPError():
            return _cut(f"{type(error).__name__}: {error}", request_id)
    return ProviderFailure(
        "malformed_stream", 200, str(error), retryable=True, request_id=request_id
    )


def _cut(reason: str, request_id: str | None) -> ProviderFailure:
    return ProviderFailure("stream_cut", 200, reason, retryable=True, request_id=request_id)
