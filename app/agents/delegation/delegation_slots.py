"""Slots for delegating sub-agents, so that waiting ones leave processes for others."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext

from app.agents.delegation.model import SubagentTask
from app.agents.delegation.task_limits import TaskLimitResolver


class DelegationSlots:
    """Slots by depth: at least one process stays free for sub-agents that do not delegate, and so
    end.

    Args:
        processes: maximum concurrent sub-agents.
    """

    def __init__(self, limits: TaskLimitResolver, processes: int) -> None:
        self._limits = limits
        self._processes = processes
        self._slots: dict[int, asyncio.Semaphore] = {}

    def of(self, task: SubagentTask, depth: int) -> AbstractAsyncContextManager[None]:
        """Return a slot for a delegating sub-agent of the depth; others need none."""
        if not task.limits.scope.may_delegate:
            return nullcontext()
        levels = self._limits.deepest() - 1
        most = max(1, (self._processes - 1) // levels)
        return self._slots.setdefault(depth, asyncio.Semaphore(most))
