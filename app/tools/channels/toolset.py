"""The `weixin_desktop` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.channels.weixin_send_text import weixin_send_text

TOOLS: tuple[Tool, ...] = (weixin_send_text,)
