"""Names of the services that the media tools need."""

from __future__ import annotations

IMAGE_PROVIDER = "images.provider"
"An `ImageProvider`, named after the setting that provides it."
