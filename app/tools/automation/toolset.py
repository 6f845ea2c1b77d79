"""The `automation` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.automation.remote_trigger import remote_trigger
from app.tools.automation.schedule_cron import schedule_cron

TOOLS: tuple[Tool, ...] = (schedule_cron, remote_trigger)
