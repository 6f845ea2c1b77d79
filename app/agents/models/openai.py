"""Client of OpenAI's chat models, and of any server with compatible chat completions.

The package `openai` is an extra: `pip install 'tollgate[openai]'`.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from app.agents.models.assembly import MalformedStream
from app.agents.models.chat_assembly import ChatAssembler
from app.agents.models.chat_conversion import Dialect, chat_body
from app.agents.models.conversion import call_ids
from app.agents.models.failures import ProviderFailure, http_failure
from app.agents.models.protocol import ModelEvent, ModelRequest
from app.agents.models.provider import (
    CONNECT_SECONDS,
    ProviderModel,
    ProviderSettings,
    malformed_stream,
    require_event_stream,
    stream_cut,
)
from app.core.errors import ConfigurationError
from app.core.text import dump_json

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

_OWN_URL = "https://api.openai.com/v1"
_MAX_REFUSAL = 10_000

_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_WORDS_IN = ("message", "detail", "error", "msg")
_DEEPEST = 5
_MOST_REASONS = 5
# Words in the type or code of an error inside a stream, which has no status.
_STATUS_OF_WORD = (
    ("rate_limit", 429),
    ("too_many", 429),
    ("overload", 529),
    ("unavailable", 503),
    ("timeout", 504),
    ("auth", 401),
    ("invalid_api_key", 401),
    ("permission", 403),
    ("not_found", 404),
    ("notfound", 404),
    ("invalid", 400),
    ("badrequest", 400),
    ("bad_request", 400),
)


@dataclass(frozen=True, slots=True)
class OpenAISettings(ProviderSettings):
    """Connection settings of OpenAI or a compatible server.

    `api_key` may be empty if `base_url` names a server that needs none.
    """

    key_setting: ClassVar[str] = "OPENAI_API_KEY"
    url_setting: ClassVar[str] = "OPENAI_BASE_URL"

    def _may_carry(self, key: str) -> bool:
        if not key:
            return self.base_url is not None
        return key.isascii() and key.isprintable()


def require_sdk() -> None:
    """Check that the extra is installed. Raises: ConfigurationError."""
    if importlib.util.find_spec("openai") is None:
        raise ConfigurationError(
            "The provider openai requires the package `openai`: pip install 'tollgate[openai]'.",
            setting="TOLLGATE_MODEL_PROVIDER",
        )


class OpenAIModel(ProviderModel["AsyncOpenAI"]):
    """`ModelClient` for OpenAI and compatible servers."""

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(settings, sleep=sleep)
        self._settings = settings
        own = urlsplit(settings.base_url or _OWN_URL).hostname == urlsplit(_OWN_URL).hostname
        self._dialect = Dialect("max_completion_tokens" if own else "max_tokens")
        self._learned: dict[str, Dialect] = {}

    def _connect(self) -> AsyncOpenAI:
        require_sdk()
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        from app.agents.models.transport import client_options

        settings = self._settings
        return AsyncOpenAI(
            # The SDK requires a key; a server without keys accepts any.
            api_key=settings.api_key or "none",
            base_url=settings.base_url or _OWN_URL,
            max_retries=0,
            timeout=Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout)),
            http_client=DefaultAsyncHttpxClient(**client_options()),
        )

    async def _attempt(
        self, client: AsyncOpenAI, request: ModelRequest
    ) -> AsyncGenerator[ModelEvent, None]:
        import httpx2
        import openai

        assembler = ChatAssembler(request.model, call_ids(request.messages))
        request_id: str | None = None
        begun = False
        try:
            async with AsyncExitStack() as stack:
                chunks = await self._opened(client, request, stack)
                headers = chunks.response.headers
                begun, request_id = True, headers.get("x-request-id")
                require_event_stream(headers.get("content-type", ""))
                async for chunk in chunks:
                    if (error := error_in(chunk)) is not None:
                        raise chunk_failure(error, request_id)
                    for event in assembler.feed(chunk):
                        yield event
        except (
            openai.APIError,
            httpx2.HTTPError,
            MalformedStream,
            ValueError,  # invalid JSON, invalid UTF-8, or a number of five thousand digits
            RecursionError,
        ) as error:
            # Errors after the end of the message do not affect the response.
            if not assembler.ended:
                raise _provider_failure(error, request_id, begun=begun) from None
        try:
            for event in assembler.close():
                yield event
        except MalformedStream as error:
            raise malformed_stream(error, request_id) from None
        completed = assembler.completed(request_id)
        if completed is None:
            raise stream_cut("no finish reason arrived", request_id)
        yield completed

    async def _opened(
        self, client: AsyncOpenAI, request: ModelRequest, stack: AsyncExitStack
    ) -> AsyncStream[object]:
        """Return the opened stream; retried in the dialect that the server accepts."""
        import openai

        while True:
            dialect = self._learned.get(request.model, self._dialect)
            try:
                # Already encoded: the SDK would copy and check the whole conversation, and encode
                # it slowly.
                chunks = await client.post(
                    "/chat/completions",
                    content=dump_json({**chat_body(request, dialect), "stream": True}),
                    cast_to=object,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                    options={"headers": {"content-type": "application/json"}},
                )
                return await stack.enter_async_context(chunks)
            except openai.APIStatusError as error:
                said = str(error.body)[:_MAX_REFUSAL]
                other = dialect.after_refusal(error.status_code, said)
                if other is None:
                    raise
                self._learned[request.model] = other


def _provider_failure(error: Exception, request_id: str | None, *, begun: bool) -> ProviderFailure:
    """Return why an attempt failed; `begun` if its headers had arrived."""
    import httpx2
    import openai

    match error:
        case openai.APIStatusError():
            return status_failure(
                error.status_code, error.body, error.request_id, error.response.headers
            )
        case openai.APITimeoutError() | httpx2.TimeoutException():
            status = 200 if begun else None
            return ProviderFailure("timeout_error", status, retryable=True, request_id=request_id)
        case openai.APIConnectionError() | httpx2.HTTPError():
            cause = error.__cause__ or error
            if begun:
                return stream_cut(f"{type(cause).__name__}: {cause}", request_id)
            return ProviderFailure("connection_failed", None, str(cause), retryable=True)
        case openai.APIError():
            return chunk_failure(error.body, request_id)
    return malformed_stream(error, request_id)


# Conversion of chat completion errors to a `ProviderFailure`.
#
# The bodies differ: OpenAI's `{"error": {"message", "type", "code"}}`, `{"error": "text"}`,
# `{"message"}`, `{"detail": text or list}`, plain text, an HTML page.


def status_failure(
    status: int, body: object, request_id: str | None, headers: Any
) -> ProviderFailure:
    """Return the failure for an HTTP status of 300 or more; `headers` is any mapping with
    lower-case lookup.
    """
    error = error_of(body)
    failure = http_failure(status, None, reason_of(error), request_id, headers)
    words = _words(error)
    if words & _NO_CREDIT:
        failure.code, failure.retryable, failure.retry_after = "billing_error", False, None
    elif words & _TOO_LONG:
        failure.code = "request_too_large"
    return failure


def chunk_failure(error: object, request_id: str | None) -> ProviderFailure:
    """Return the failure for an error inside a stream that started with status 200."""
    failure = status_failure(_status_of(error), error, request_id, {})
    failure.status = 200
    return failure


def error_in(chunk: object) -> object | None:
    """Return the error in a chunk that is not part of a completion."""
    if not isinstance(chunk, dict) or "choices" in chunk:
        return None
    return chunk if any(key in chunk for key in ("message", "detail")) else None


def error_of(body: object) -> object:
    """Return the error without its wrappers."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        return body.get("error") or body
    return body


def reason_of(error: object, depth: int = 0) -> str:
    """Return the server's message; HTML pages and deeply nested texts are ignored."""
    if depth > _DEEPEST:
        return ""
    if isinstance(error, Mapping):
        said = next((error[key] for key in _WORDS_IN if error.get(key)), "")
        return reason_of(said, depth + 1)
    if isinstance(error, list):
        items = (reason_of(item, depth + 1) for item in error[:_MOST_REASONS])
        return "; ".join(filter(None, items))
    text = error if isinstance(error, str) else ""
    return "" if text.lstrip().startswith("<") else text


def _words(error: object) -> set[str]:
    if not isinstance(error, Mapping):
        return set()
    return {word for key in ("type", "code") if isinstance(word := error.get(key), str)}


def _status_of(error: object) -> int:
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, int) and 400 <= code < 600:
        return code
    said = " ".join(sorted(_words(error))).lower()
    return next((status for word, status in _STATUS_OF_WORD if word in said), 500)
