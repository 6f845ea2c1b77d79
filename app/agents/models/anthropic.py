"""Client of Claude through Anthropic's SDK: authentication, connections, server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from app.agents.models.assembly import MalformedStream, MessageAssembler, parse_event
from app.agents.models.conversion import call_ids, request_body
from app.agents.models.failures import ProviderFailure, http_failure, stream_failure
from app.agents.models.protocol import ModelEvent, ModelRequest
from app.agents.models.provider import (
    CONNECT_SECONDS,
    ProviderModel,
    ProviderSettings,
    malformed_stream,
    require_event_stream,
    stream_cut,
)
from app.agents.models.tool_encoder import ToolEncoder
from app.core.text import dump_json

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic


@dataclass(frozen=True, slots=True)
class AnthropicSettings(ProviderSettings):
    """Connection settings of Anthropic; without `base_url`, the SDK reads ANTHROPIC_BASE_URL.

    Attributes:
        cache_prompts: ask the provider to cache the conversation so far.
    """

    key_setting: ClassVar[str] = "ANTHROPIC_API_KEY"
    url_setting: ClassVar[str] = "ANTHROPIC_BASE_URL"

    cache_prompts: bool = True


class AnthropicModel(ProviderModel["AsyncAnthropic"]):
    """`ModelClient` for Anthropic."""

    def __init__(
        self,
        settings: AnthropicSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(settings, sleep=sleep)
        self._settings = settings
        self._tools = ToolEncoder()

    def _connect(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

        from app.agents.models.transport import client_options

        settings = self._settings
        return AsyncAnthropic(
            api_key=settings.api_key,
            base_url=settings.base_url,
            max_retries=0,
            timeout=Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout)),
            http_client=DefaultAsyncHttpxClient(**client_options()),
        )

    async def _attempt(
        self, client: AsyncAnthropic, request: ModelRequest
    ) -> AsyncGenerator[ModelEvent, None]:
        import anthropic
        import httpx2

        assembler = MessageAssembler(request.model, call_ids(request.messages))
        body = request_body(request, cache_prompts=self._settings.cache_prompts)
        if request.tools:
            body["tools"] = self._tools.encoded(request.tools)
        request_id: str | None = None
        try:
            # Already encoded: the SDK would copy and check the whole conversation, and encode it
            # slowly.
            async with await client.post(
                "/v1/messages",
                content=dump_json({**body, "stream": True}),
                cast_to=anthropic.types.Message,
                stream=True,
                stream_cls=anthropic.AsyncStream[anthropic.types.RawMessageStreamEvent],
                options={"headers": {"content-type": "application/json"}},
            ) as stream:
                response = stream.response
                require_event_stream(response.headers.get("content-type", ""))
                request_id = response.headers.get("request-id")
                async for sse in anthropic.AsyncStream.raw_events(response):
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
            # Errors after the end of the message do not affect the response.
            if assembler.completed() is None:
                raise _provider_failure(error, request_id) from None
        completed = assembler.completed(request_id)
        if completed is None:
            raise stream_cut("no stop reason arrived", request_id)
        yield completed


def _status_failure(error: APIStatusError) -> ProviderFailure:
    # A gateway may send other types than the SDK declares.
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
            return stream_cut(f"{type(error).__name__}: {error}", request_id)
    return malformed_stream(error, request_id)
