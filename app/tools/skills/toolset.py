"""The `skills` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.skills.execute_skill import execute_skill
from app.tools.skills.read_skill import read_skill
from app.tools.skills.read_skill_file import read_skill_file
from app.tools.skills.skill_manage import skill_manage

TOOLS: tuple[Tool, ...] = (read_skill, read_skill_file, skill_manage, execute_skill)
