"""The `shell` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.shell.bash import bash

TOOLS: tuple[Tool, ...] = (bash,)
