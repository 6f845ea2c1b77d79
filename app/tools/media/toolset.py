"""The `media` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.media.image_to_image import image_to_image
from app.tools.media.screenshot import screenshot
from app.tools.media.send_media import send_media
from app.tools.media.text_to_image import text_to_image

TOOLS: tuple[Tool, ...] = (screenshot, send_media, text_to_image, image_to_image)
