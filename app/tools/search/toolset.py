"""The `search` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.search.file_search import file_search
from app.tools.search.find_files import find_files
from app.tools.search.grep import grep

TOOLS: tuple[Tool, ...] = (find_files, grep, file_search)
