"""The `media` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.media.screenshot import screenshot
from app.tools.media.send_media import send_media

TOOLS: tuple[Tool, ...] = (screenshot, send_media)
