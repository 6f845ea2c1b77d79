"""Puts back what a sandboxed program changed of the files that git runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from app.operations.local.repositories import Repositories, Snapshot
from app.operations.local.threads import PROCESSES, run_in, to_end

# What runs for longer than this outlives what a person does meanwhile with the same files: whose
# the change is cannot be known any more, so it is reported and left.
_SURE_S = 600.0


@dataclass(slots=True)
class GitChanges:
    """What one program changed: put back, or left as it is."""

    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(slots=True)
class Approvals:
    """Programs of a workspace that may change what git runs: now, and how many there were."""

    now: int = 0
    ever: int = 0


@dataclass(slots=True)
class GitWatch:
    """One program: look before it starts, settle when its tree has ended."""

    repositories: Repositories
    approvals: Approvals
    approved: bool
    long_lived: bool = False
    before: Snapshot = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    ever: int = 0
    _settled: asyncio.Future[GitChanges] | None = None

    async def begin(self) -> tuple[str, ...]:
        """Remember how things are; what a program that is not approved may only read."""
        self.approvals.now += self.approved
        self.approvals.ever += self.approved
        self.ever = self.approvals.ever
        if self.approved:
            return ()
        return await to_end(run_in(PROCESSES, self._look))

    def _look(self) -> tuple[str, ...]:
        self.before = self.repositories.look()
        folders = self.repositories.folders()
        # What runs for hours would have its change there for hours.
        return tuple(folders if self.long_lived else (f"{folder}/hooks" for folder in folders))

    async def settle(self) -> GitChanges:
        """Undo once; whoever asks again gets the same answer."""
        if self._settled is None:
            self._settled = asyncio.ensure_future(self._settle())
        return await asyncio.shield(self._settled)

    async def _settle(self) -> GitChanges:
        if self.approved:
            self.approvals.now -= 1
            return GitChanges()
        # An approved program ran beside this one: the change may be its own.
        mixed = self.approvals.now > 0 or self.approvals.ever != self.ever
        if mixed or time.monotonic() - self.started > _SURE_S:
            changed = await to_end(run_in(PROCESSES, self.repositories.changed, self.before))
            return GitChanges(left=tuple(changed))
        undone, failed = await to_end(run_in(PROCESSES, self.repositories.put_back, self.before))
        return GitChanges(tuple(undone), tuple(failed))
