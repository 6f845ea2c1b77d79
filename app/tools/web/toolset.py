"""The `web` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.web.crawl_batch import crawl_batch
from app.tools.web.web_fetch import web_fetch
from app.tools.web.web_search import web_search

TOOLS: tuple[Tool, ...] = (web_search, web_fetch, crawl_batch)
