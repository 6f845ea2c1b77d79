"""Conversion of chat completion errors to a `ProviderFailure`.

The bodies differ: OpenAI's `{"error": {"message", "type", "code"}}`, `{"error": "text"}`,
`{"message"}`, `{"detail": text or list}`, plain text, an HTML page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.agents.models.failures import ProviderFailure, http_failure

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
