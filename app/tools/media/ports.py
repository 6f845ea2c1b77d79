"""Names of the media tools' services."""

from __future__ import annotations

IMAGE_PROVIDER = "images.provider"
"""An `ImageProvider`, named after its setting."""
