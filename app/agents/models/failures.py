"""Conversion of provider failures to a `ModelFailed` with instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.agents.models.protocol import Completed
from app.core.errors import ModelFailed
from app.core.text import clean, truncate

_LONGEST_REASON = 500

_CODE_OF_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_RETRYABLE_STATUS = frozenset({408, 409, 429})

_RETRYABLE_IN_STREAM = frozenset(
    {"api_error", "overloaded_error", "rate_limit_error", "timeout_error"}
)

_OUT_OF_TOKENS = frozenset({"max_tokens", "max_output_tokens", "length", "model_length"})

# provider code -> what happened, what to do; {key} and {url} are the provider's settings
_SENTENCES = {
    "authentication_error": (
        "The model provider rejected the API key",
        "Check {key}.",
    ),
    "billing_error": (
        "The model provider refused the request for billing reasons",
        "Check the plan and the credit of the account.",
    ),
    "permission_error": (
        "The API key lacks permission",
        "Check the permissions of the key and its workspace.",
    ),
    "not_found_error": (
        "The model provider did not find the requested item",
        "Check the model's name and {url}.",
    ),
    "request_too_large": (
        "The request exceeds the model provider's size limit",
        "Start a new session, or avoid large tool results and images.",
    ),
    "rate_limit_error": (
        "The account's rate limit at the model provider has been reached",
        "Wait and try again, or raise the limit.",
    ),
    "overloaded_error": ("The model provider is overloaded", "Try again later."),
    "api_error": ("The model provider failed internally", "Try again."),
    "timeout_error": (
        "The model provider did not answer in time",
        "Try again, or raise the model timeout.",
    ),
    "invalid_request_error": (
        "The model provider refused the request",
        "Change the request as the reason says.",
    ),
    "redirected": (
        "The model provider's address redirects, and redirects are not followed with the key",
        "Set {url} to the final address.",
    ),
    "connection_failed": (
        "The model provider cannot be reached",
        "Check the network and {url}.",
    ),
    "stream_cut": ("The model's stream ended early", "Try again."),
    "malformed_stream": (
        "The model's stream is malformed",
        "Try again; if the problem persists, check {url}.",
    ),
    "not_a_stream": (
        "The model provider did not answer with an event stream",
        "Check {url}.",
    ),
}


@dataclass(eq=False)  # exceptions must stay hashable
class ProviderFailure(Exception):
    """Failure of one attempt, used only in this package.

    Attributes:
        code: the provider's error type, or a key of the sentences above.
        status: HTTP status; None without a response.
        reason: message of the provider.
        retry_after: seconds to wait, as requested by the provider.
    """

    code: str
    status: int | None
    reason: str = ""
    retryable: bool = False
    request_id: str | None = None
    retry_after: float | None = None


def http_failure(
    status: int,
    code: str | None,
    reason: str,
    request_id: str | None,
    headers: Any,
) -> ProviderFailure:
    """Return the failure for an HTTP status of 300 or more; `headers` is any mapping with
    lower-case lookup.
    """
    wanted = headers.get("x-should-retry")
    retryable = status in _RETRYABLE_STATUS or status >= 500
    return ProviderFailure(
        code=_code_of(status) if status < 400 else code or _code_of(status),
        status=status,
        reason=reason,
        retryable=wanted == "true" if wanted in ("true", "false") else retryable,
        request_id=request_id,
        retry_after=_retry_after(headers),
    )


def _code_of(status: int) -> str:
    if status < 400:
        return "redirected"
    return _CODE_OF_STATUS.get(status, "api_error" if status >= 500 else "http_error")


def stream_failure(event: dict[str, Any], status: int, request_id: str | None) -> ProviderFailure:
    """Return the failure for an `error` event inside a stream that started with status 200."""
    error = event.get("error")
    fields = error if isinstance(error, dict) else {}
    code = str(fields.get("type") or "api_error")
    return ProviderFailure(
        code=code,
        status=status,
        reason=str(fields.get("message") or ""),
        retryable=code in _RETRYABLE_IN_STREAM,
        request_id=request_id,
    )


def model_failed(
    failure: ProviderFailure, *, secret: str, key_setting: str, url_setting: str
) -> ModelFailed:
    """Return the public error; `secret` is removed from the provider's message."""
    happened, advice = _SENTENCES.get(
        failure.code, ("The model provider refused the request", "Read the reason and try again.")
    )
    advice = advice.format(key=key_setting, url=url_setting)
    status = f" ({failure.status})" if failure.status not in (None, 200) else ""
    reason = failure.reason.replace(secret, "[redacted]") if secret else failure.reason
    reason = truncate(clean(" ".join(reason.split())).rstrip("."), _LONGEST_REASON)
    details: dict[str, Any] = {
        "provider_code": failure.code.replace(secret, "[redacted]") if secret else failure.code,
        "status": failure.status,
        "retryable": failure.retryable,
    }
    if failure.request_id:
        details["request_id"] = failure.request_id
    if failure.retry_after is not None:
        details["retry_after_ms"] = int(failure.retry_after * 1000)
    said = f": {reason}" if reason else ""
    return ModelFailed(f"{happened}{status}{said}. {advice}", **details)


def cut_in_a_call(completed: Completed) -> ModelFailed:
    """Return the error for a response cut off inside a call, so none of its calls may run."""
    if completed.stop_reason in _OUT_OF_TOKENS:
        return ModelFailed(
            "The model ran out of tokens inside a tool call, which was not run. Raise "
            "max_tokens (TOLLGATE_MAX_TOKENS).",
            provider_code="max_tokens_in_tool_call",
            retryable=False,
        )
    return ModelFailed(
        f"The model was stopped ({truncate(completed.stop_reason, 40)}) inside a tool "
        "call, which was not run. Send the message again.",
        provider_code="stopped_in_tool_call",
        retryable=False,
    )


def _retry_after(headers: Any) -> float | None:
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
