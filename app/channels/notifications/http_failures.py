"""Failures of requests to notification services, without addresses or secrets in them."""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime

from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain
from app.core.errors import ToolFailed
from app.operations.web.protocol import WebResponse

# Nothing about these requests changes before an operator changes a setting.
_PERMANENT = frozenset({"invalid_url", "address_refused", "host_refused"})
# The request was sent, perhaps, and its response was lost.
_UNCERTAIN = frozenset({"fetch_failed", "timeout", "file_too_large"})
_REASONS = {
    "invalid_url": "its address is invalid",
    "address_refused": "its address is not public",
    "host_refused": "the settings do not allow its host",
    "timeout": "it did not answer in time",
    "file_too_large": "its answer is too large",
}


def unreachable(service: str, error: ToolFailed) -> DeliveryFailed:
    """Return the failure of a request without a response.

    The error's own message names the address, which may contain a secret.
    """
    code = str(error.details.get("code", error.code))
    reason = f"{service}: {_REASONS.get(code, 'it is unreachable')}"
    if code in _UNCERTAIN:
        return DeliveryUncertain(reason)
    return DeliveryFailed(reason, permanent=code in _PERMANENT)


def retry_after(response: WebResponse, now: datetime) -> float | None:
    """Return the seconds of a `Retry-After` header, given in seconds or as a date."""
    text = response.header("retry-after")
    if text is None:
        return None
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return None
