"""The toolset `code`."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.code.execute_python import execute_python

TOOLS: tuple[Tool, ...] = (execute_python,)
