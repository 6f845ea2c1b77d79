"""Names of the services that the media tools need."""

from __future__ import annotations

IMAGE_PROVIDER = "images.provider"
"""An `ImageProvider`. Called as the setting is that brings it."""
