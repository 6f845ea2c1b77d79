"""Shared base of the providers' clients: settings, one connection, and retries.

An SDK's import takes seconds, so it is deferred to the first request. Retries are done here: an SDK
never retries a stream that fails after its headers, would multiply retries with a second budget,
and sleeps for as long as a `retry-after` says.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from app.agents.models.failures import ProviderFailure, model_failed
from app.agents.models.protocol import ModelEvent, ModelRequest
from app.core.errors import ConfigurationError

CONNECT_SECONDS = 5.0
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 8.0
_LONGEST_WAIT = 60.0

_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Connection settings of a provider.

    Attributes:
        api_key: surrounding whitespace is removed.
        base_url: None uses the provider's default.
        max_retries: retries of one model request after its first attempt; 0 tries once.
        timeout: seconds without data before an attempt counts as failed.

    Raises (on creation): ConfigurationError naming the setting.
    """

    key_setting: ClassVar[str]
    url_setting: ClassVar[str]

    api_key: str = field(repr=False)
    base_url: str | None = None
    max_retries: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        key = self.api_key.strip()
        if not self._may_carry(key):
            raise ConfigurationError(
                f"{self.key_setting} is empty or contains invalid characters: copy it again.",
                setting=self.key_setting,
            )
        object.__setattr__(self, "api_key", key)
        if self.base_url is not None and not _is_http_url(self.base_url):
            raise ConfigurationError(
                f"{self.url_setting} is not a valid http(s) URL: use a URL such as "
                "https://host.example.",
                setting=self.url_setting,
            )
        if self.max_retries < 0:
            raise ConfigurationError(
                f"max_retries is {self.max_retries}: it must be 0 or more", setting="max_retries"
            )
        if self.timeout <= 0:
            raise ConfigurationError(
                f"timeout is {self.timeout}: it must be greater than 0 seconds", setting="timeout"
            )

    def _may_carry(self, key: str) -> bool:
        return bool(key) and key.isascii() and key.isprintable()


class Closable(Protocol):
    """Client of an SDK."""

    async def close(self) -> None: ...


Client = TypeVar("Client", bound=Closable)


class ProviderModel(ABC, Generic[Client]):
    """`ModelClient` of one provider.

    `sleep` waits between attempts; tests pass one that returns immediately.
    """

    def __init__(
        self,
        settings: ProviderSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._provider = settings
        self._sleep = sleep
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    @abstractmethod
    def _connect(self) -> Client:
        """Import the SDK and create its client; may block."""

    @abstractmethod
    def _attempt(self, client: Client, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send one request to the provider. Raises: ProviderFailure."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`. An attempt is repeated only if nothing was yielded."""
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
                if yielded or wait is None or attempt >= self._provider.max_retries:
                    # Not chained: an SDK's errors contain the request with its key.
                    raise model_failed(
                        failure,
                        secret=self._provider.api_key,
                        key_setting=self._provider.key_setting,
                        url_setting=self._provider.url_setting,
                    ) from None
            else:
                return
            attempt += 1
            await self._sleep(wait)

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> Client:
        if self._client is None:
            async with self._connecting:
                if self._client is None:
                    # The import and the certificate store block for seconds.
                    self._client = await asyncio.to_thread(self._connect)
        return self._client


def require_event_stream(content_type: str) -> None:
    """Check the content type. Raises: ProviderFailure if the response is a page or a document."""
    if not content_type.lower().startswith("text/event-stream"):
        raise ProviderFailure("not_a_stream", 200, f"it sent {content_type or 'no type'!r}")


def stream_cut(reason: str, request_id: str | None) -> ProviderFailure:
    """Return the failure for a stream that ended before the model did."""
    return ProviderFailure("stream_cut", 200, reason, retryable=True, request_id=request_id)


def malformed_stream(error: Exception, request_id: str | None) -> ProviderFailure:
    """Return the failure for an invalid stream."""
    return ProviderFailure(
        "malformed_stream", 200, str(error), retryable=True, request_id=request_id
    )


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _wait_before(attempt: int, failure: ProviderFailure) -> float | None:
    """Return the seconds to wait before `attempt` (1 is the first retry); None: do not retry."""
    if not failure.retryable:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= _LONGEST_WAIT else None
    longest = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** (attempt - 1))
    return _random.uniform(longest / 2, longest)
