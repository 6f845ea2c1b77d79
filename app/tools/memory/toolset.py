"""The `memory` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.memory.memory_forget import memory_forget
from app.tools.memory.memory_read import memory_read
from app.tools.memory.memory_recall import memory_recall
from app.tools.memory.memory_save import memory_save

TOOLS: tuple[Tool, ...] = (memory_save, memory_recall, memory_read, memory_forget)
