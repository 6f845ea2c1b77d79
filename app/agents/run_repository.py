"""Recording of runs: row, events and metrics of start and end."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from app.agents.model_settings import AgentSettings
from app.agents.restart_policy import RestartPolicy
from app.agents.run import Queued, Run, error_body
from app.core import process
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import TollgateError
from app.core.metrics import Metrics
from app.db.statements import ADD_RUN, FINISH_RUN, PARK_RUN, QUEUE_RUN, START_QUEUED
from app.db.writer import DatabaseWriter
from app.events.durable import RunFinished, RunStarted, RunStatus
from app.execution.limits.store import LimitStore
from app.governance.grants import GrantStore
from app.resolver.resolver import Resolver

log = logging.getLogger(__name__)


class RunRepository:
    """Writes runs to the database and the event log, without awaiting."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        metrics: Metrics,
        agents: AgentSettings,
        resolver: Resolver,
        limits: LimitStore,
        grants: GrantStore,
        restart_policy: RestartPolicy,
    ) -> None:
        self._db = db
        self._clock = clock
        self._metrics = metrics
        self._agents = agents
        self._resolver = resolver
        self._limits = limits
        self._grants = grants
        self._restart_policy = restart_policy
        self._owner = process.identity()

    def queued(self, item: Queued) -> None:
        """Record an accepted, waiting message."""
        row = self._row(item.run, "queued")
        self._db.append(QUEUE_RUN, (*row, item.stored()))

    def started(self, run: Run, *, was_queued: bool = False) -> None:
        """Record the start of the run."""
        session = run.session
        row = self._row(run, "running")
        session.log.holders.add(run.id)
        if was_queued:
            self._db.append(START_QUEUED, (run.started_at, run.id))
        else:
            self._db.append(ADD_RUN, row)
        self._restart_policy.keep(run)
        session.log.emit(
            RunStarted,
            run_id=run.id,
            agent_id=run.agent_id,
            trigger=run.trigger,
            model=self._model_of(run),
            tool_names=self._tools_of(run),
        )
        self._metrics.gauge("runs_active", 1)

    def taken_up(self, run: Run) -> None:
        """Record that a run of another process continues here."""
        run.session.log.holders.add(run.id)
        self._metrics.gauge("runs_active", 1)

    def left_waiting(self, item: Queued) -> None:
        """Record that the next process continues with the message."""
        self._db.append(PARK_RUN, (item.run.id,))

    def left(self, run: Run) -> None:
        """Record that the next process continues the run."""
        self._db.append(PARK_RUN, (run.id,))
        run.session.log.holders.discard(run.id)
        self._metrics.gauge("runs_active", -1)

    def ended(self, run: Run, status: RunStatus, error: TollgateError | None) -> None:
        """Record the end of a run; the session continues even if that fails."""
        with ErrorBoundary() as held:
            self._write_end(run, status, error)
        if held.error is not None:
            log.error("cannot record the end of run %s", run.id, exc_info=held.error)
        run.session.log.holders.discard(run.id)
        self._limits.run_ended(run.id)
        self._metrics.gauge("runs_active", -1)
        self._metrics.count("runs", status)

    def _write_end(self, run: Run, status: RunStatus, error: TollgateError | None) -> None:
        turns, before = run.turns, run.before
        usage = before.usage if before else run.asked.fields()
        stop_reason = before.stop_reason if before else None
        if turns is not None:
            usage, stop_reason = turns.spending.fields(), turns.stop_reason
        body = None if error is None else error_body(error)
        row = (
            status,
            stop_reason,
            None if body is None else orjson.dumps(body).decode(),
            orjson.dumps(usage).decode(),
            isoformat(self._clock.now()),
            run.id,
        )
        self._db.append(FINISH_RUN, row)
        self._grants.end_run(run.id)
        run.session.log.emit(
            RunFinished,
            run_id=run.id,
            agent_id=run.agent_id,
            status=status,
            stop_reason=stop_reason,
            error=body,
            usage=usage,
        )

    def _row(self, run: Run, status: str) -> tuple[Any, ...]:
        session = run.session
        run.started_at = isoformat(self._clock.now())
        return (
            run.id,
            session.id,
            run.trigger,
            status,
            run.agent_id,
            self._model_of(run),
            None,
            self._owner,
            run.started_at,
        )

    def _tools_of(self, run: Run) -> list[str]:
        if not run.tools_enabled:
            return []
        return list(self._resolver.resolve(run.agent_id).tool_names)

    def _model_of(self, run: Run) -> str | None:
        if not run.has_model:
            return None
        return self._agents.model(run.session, run.agent_id).model
