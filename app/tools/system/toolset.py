"""The `system` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.system.read_result import read_result
from app.tools.system.search import search
from app.tools.system.search_tools import search_tools

TOOLS: tuple[Tool, ...] = (search_tools, search, read_result)
