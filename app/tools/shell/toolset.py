"""The `shell` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.shell.bash import bash
from app.tools.shell.powershell import powershell
from app.tools.shell.process import process

TOOLS: tuple[Tool, ...] = (bash, powershell, process)
