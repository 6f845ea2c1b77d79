"""Restart policy of runs.

`CloseOnRestart` stores nothing: a run ends with its process and is reported as interrupted.
`ResumeOnRestart` stores the run's progress in the commit of every step; the next process continues
from there (`docs/decisions/0022-durable-runs.md`).
"""

from __future__ import annotations

import logging
from typing import Protocol

from app.agents.progress import RunProgress
from app.agents.run import Run
from app.core.error_boundary import try_call
from app.db.statements import KEEP_PROGRESS
from app.db.writer import DatabaseWriter
from app.execution.deferred_tools import DeferredTools

log = logging.getLogger(__name__)

# A run that crashes its process must not do so forever.
MOST_TRIES = 3


class RestartPolicy(Protocol):
    """Policy for runs whose process ends.

    Attributes:
        continues: the next process answers messages that were waiting.
    """

    @property
    def continues(self) -> bool: ...

    def keep(self, run: Run) -> None:
        """Store progress in the next commit, at the start or after a step of the run."""

    def forget(self, run: Run) -> None:
        """Forget a run that is to stop, so that no process continues it."""

    def leaves(self, run: Run) -> bool:
        """Return whether the run, stopped with the service, is left to the next process."""

    def progress_of(self, stored: str | None) -> RunProgress | None:
        """Return the progress of a run left by another process, or None to close it."""


class CloseOnRestart:
    """Runs end with their process."""

    continues = False

    def keep(self, run: Run) -> None:
        """Do nothing: no progress is stored."""

    def forget(self, run: Run) -> None:
        """Do nothing: no progress was stored."""

    def leaves(self, run: Run) -> bool:
        return False

    def progress_of(self, stored: str | None) -> RunProgress | None:
        return None


CLOSING = CloseOnRestart()


class ResumeOnRestart:
    """Continues runs with a model; batches of direct calls end with their process."""

    continues = True

    def __init__(self, db: DatabaseWriter, deferred: DeferredTools) -> None:
        self._db = db
        self._deferred = deferred

    def keep(self, run: Run) -> None:
        if run.has_model and not run.is_cancelled:
            self._store(run, self._progress(run).stored())

    def forget(self, run: Run) -> None:
        if run.has_model:
            self._store(run, None)

    def leaves(self, run: Run) -> bool:
        return run.has_model and not run.is_cancelled

    def progress_of(self, stored: str | None) -> RunProgress | None:
        if stored is None:
            return None
        progress, error = try_call(RunProgress.read, stored)
        if error is not None:
            log.error("cannot read the progress of a run", exc_info=error)
        return progress

    def _progress(self, run: Run) -> RunProgress:
        turns = run.turns
        if turns is None:
            return RunProgress(
                run.quota_subject,
                run.attended,
                unheard=run.unheard,
                tools_enabled=run.tools_enabled,
            )
        return RunProgress(
            run.quota_subject,
            run.attended,
            turns.progress(),
            tuple(message_id for message_id, _ in turns.steering),
            self._deferred.shown_to(run.id),
            turns.tries,
            run.tools_enabled,
        )

    def _store(self, run: Run, progress: str | None) -> None:
        self._db.append(KEEP_PROGRESS, (progress, run.id))
