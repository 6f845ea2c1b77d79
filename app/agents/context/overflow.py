"""Why a provider took a request not at all: it was too long, or had images that it cannot read."""

from __future__ import annotations

import re

from app.core.errors import ModelFailed

WINDOW_EXCEEDED = "model_context_window_exceeded"
"""The stop reason of an answer that the end of the window cut off."""
_CODES = ("request_too_large", "context_length_exceeded", WINDOW_EXCEEDED)
_WORDS = re.compile(
    r"prompt is too long|context (?:window|length)|maximum context|too many (?:input )?tokens"
    r"|input is too long|exceeds? the context",
    re.IGNORECASE,
)

_IMAGES = re.compile(r"\bimages?\b|\bimage_url\b|\bvision\b", re.IGNORECASE)


def refuses_images(error: ModelFailed) -> bool:
    """True when the same request may be taken without its images."""
    status = error.details.get("status")
    return status in (400, 415, 422) and bool(_IMAGES.search(error.message))


def is_overflow(error: ModelFailed) -> bool:
    """True when a shorter conversation may be taken."""
    code = error.details.get("provider_code")
    if code in _CODES:
        return True
    return error.details.get("status") in (400, 422) and bool(_WORDS.search(error.message))
