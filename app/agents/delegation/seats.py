"""Places for sub-agents that may delegate, so that those who wait leave processes to work in."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext

from app.agents.delegation.model import Task
from app.agents.delegation.terms import TermsKeeper


class Seats:
    """By depth: at least one process is left for whoever delegates to nobody, and so ends.

    Args:
        processes: how many sub-agents work at once.
    """

    def __init__(self, terms: TermsKeeper, processes: int) -> None:
        self._terms = terms
        self._processes = processes
        self._seats: dict[int, asyncio.Semaphore] = {}

    def of(self, task: Task, depth: int) -> AbstractAsyncContextManager[None]:
        """A place among the delegating sub-agents of that depth; others need none."""
        if not task.terms.scope.may_delegate:
            return nullcontext()
        levels = self._terms.deepest() - 1
        most = max(1, (self._processes - 1) // levels)
        return self._seats.setdefault(depth, asyncio.Semaphore(most))
