"""The `data` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.data.calculator import calculator

TOOLS: tuple[Tool, ...] = (calculator,)
