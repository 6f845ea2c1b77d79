"""The `interaction` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.interaction.ask_user import ask_user
from app.tools.interaction.escalate import escalate
from app.tools.interaction.request_rule import request_rule

TOOLS: tuple[Tool, ...] = (ask_user, escalate, request_rule)
