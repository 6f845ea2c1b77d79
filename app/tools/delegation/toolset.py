"""The `delegation` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.delegation.delegate_cancel import delegate_cancel
from app.tools.delegation.delegate_parallel import delegate_parallel
from app.tools.delegation.delegate_status import delegate_status
from app.tools.delegation.delegate_task import delegate_task
from app.tools.delegation.task_broadcast import task_broadcast
from app.tools.delegation.team_agent import team_agent

TOOLS: tuple[Tool, ...] = (
    delegate_task,
    delegate_parallel,
    team_agent,
    task_broadcast,
    delegate_status,
    delegate_cancel,
)
