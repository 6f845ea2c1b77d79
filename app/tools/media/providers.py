"""Image provider of this installation."""

from __future__ import annotations

from app.core.images import ImageSettings
from app.operations.images.openai_compatible import OpenAiImages
from app.operations.images.provider import ImageProvider
from app.tools.media.image_work import LocalDrawing


def image_provider(settings: ImageSettings) -> ImageProvider | None:
    """Return the configured provider; None disables the tools."""
    if settings.provider == "openai":
        return OpenAiImages(settings)
    if settings.provider == "draw":
        return LocalDrawing(settings.max_count)
    return None
