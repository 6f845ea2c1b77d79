"""Whether a run outlives its process.

`Closing` keeps nothing: a run ends with its process and is told as interrupted.
`Continuing` keeps with every step how far the run has come, in the commit that holds the
step; the next process goes on from there (`docs/decisions/0022-durable-runs.md`).
"""

from __future__ import annotations

import logging
from typing import Literal, Protocol

from app.agents.progress import RunProgress
from app.agents.run import Run
from app.core.error_boundary import try_call
from app.db.statements import KEEP_PROGRESS
from app.execution.setup import Runtime

log = logging.getLogger(__name__)

# A run that takes its process down with it must not do so for ever.
MOST_TRIES = 3


class RestartPolicy(Protocol):
    """What becomes of runs whose process ends.

    Attributes:
        continues: messages that wait when a process ends are answered by the next one.
    """

    @property
    def continues(self) -> bool: ...

    def keep(self, run: Run) -> None:
        """A step of the run has finished, or it begins: the next commit says so."""

    def forget(self, run: Run) -> None:
        """The run is to stop: nobody may go on with it."""

    def leaves(self, run: Run) -> bool:
        """Whether the run, which is stopped with the service, is left to the next process."""

    def progress_of(self, stored: str | None) -> RunProgress | None:
        """How far a run had come that another process left; None when it is to be closed."""


class CloseOnRestart:
    """Runs end with their process."""

    continues = False

    def keep(self, run: Run) -> None:
        """Nothing is kept."""

    def forget(self, run: Run) -> None:
        """Nothing was kept."""

    def leaves(self, run: Run) -> bool:
        return False

    def progress_of(self, stored: str | None) -> RunProgress | None:
        return None


CLOSING = CloseOnRestart()


class ResumeOnRestart:
    """Runs of a model go on; batches of direct calls end with whoever made them."""

    continues = True

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

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
            self._runtime.deferred.shown_to(run.id),
            turns.tries,
            run.tools_enabled,
        )

    def _store(self, run: Run, progress: str | None) -> None:
        self._runtime.db.append(KEEP_PROGRESS, (progress, run.id))


def restart_policy(runtime: Runtime, chosen: Literal["continue", "close"]) -> RestartPolicy:
    """What the setting `durable_runs` asks for."""
    return ResumeOnRestart(runtime) if chosen == "continue" else CLOSING
