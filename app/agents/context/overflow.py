"""Reasons why a provider rejects a request: too long, or with unsupported images."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.agents.context.images import image_keys
from app.core.errors import ModelFailed

WINDOW_EXCEEDED = "model_context_window_exceeded"
"""Stop reason of a response cut off by the end of the context window."""
_CODES = ("request_too_large", "context_length_exceeded", WINDOW_EXCEEDED)
_WORDS = re.compile(
    r"prompt is too long|context (?:window|length)|maximum context|too many (?:input )?tokens"
    r"|input is too long|exceeds? the context",
    re.IGNORECASE,
)

_IMAGES = re.compile(
    r"\bimages?\b|\bimage_url\b|\bvision\b|\bmulti-?modal\b|\bmedia.?types?\b"
    r"|content must be a string|\binput_image\b",
    re.IGNORECASE,
)
# A router without a suitable model returns 404; some servers fail with 500.
_REFUSALS = (200, 400, 404, 415, 422, 500)


def refuses_images(error: ModelFailed, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the request may succeed without the images of its messages."""
    if error.details.get("status") not in _REFUSALS or not _IMAGES.search(error.message):
        return False
    return bool(image_keys(messages))


def is_overflow(error: ModelFailed) -> bool:
    """Return whether a shorter conversation may succeed."""
    code = error.details.get("provider_code")
    if code in _CODES:
        return True
    return error.details.get("status") in (400, 422) and bool(_WORDS.search(error.message))
