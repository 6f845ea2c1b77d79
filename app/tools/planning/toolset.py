"""The `planning` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.planning.forum import forum
from app.tools.planning.schedule import schedule
from app.tools.planning.task import task
from app.tools.planning.todo import todo

TOOLS: tuple[Tool, ...] = (todo, task, schedule, forum)
