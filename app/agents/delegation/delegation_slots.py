"""Places for sub-agents that may delegate, so that those who wait leave processes to work in."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext

from app.agents.delegation.model import SubagentTask
from app.agents.delegation.task_limits import TaskLimitResolver


class DelegationSlots:
    """By depth: at least one process is left for whoever delegates to nobody, and so ends.

    Args:
        processes: how many sub-agents work at once.
    """

    def __init__(self, limits: TaskLimitResolver, processes: int) -> None:
        self._limits = limits
        self._processes = processes
        self._slots: dict[int, asyncio.Semaphore] = {}

    def of(self, task: SubagentTask, depth: int) -> AbstractAsyncContextManager[None]:
        """A place among the delegating sub-agents of that depth; others need none."""
        if not task.limits.scope.may_delegate:
            return nullcontext()
        levels = self._limits.deepest() - 1
        most = max(1, (self._processes - 1) // levels)
        return self._slots.setdefault(depth, asyncio.Semaphore(most))
