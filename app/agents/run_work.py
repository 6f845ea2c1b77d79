"""Work of a run: a conversation, direct calls, or the rest of a run whose process ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import orjson

from app.agents.cleanup import OrphanCloser, unended
from app.agents.direct_calls import DirectCalls
from app.agents.history import to_messages
from app.agents.loop import AgentLoop
from app.agents.progress import RunProgress
from app.agents.recovery import CutRun
from app.agents.restart_policy import RestartPolicy
from app.agents.run import Run
from app.agents.sessions import Sessions
from app.core.error_boundary import try_call
from app.events.durable import RunResumed, RunStatus
from app.execution.batches import SuspendedBatch
from app.execution.call import ToolCallBatch
from app.execution.deferred_tools import DeferredTools
from app.execution.executor import Executor

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[RunStatus]]


class RunWork:
    """Provides the work of each run; has no state between runs.

    Args:
        loop: None for a service that only runs direct calls.
        archive: reads the entries of a branch.
    """

    def __init__(
        self,
        sessions: Sessions,
        loop: AgentLoop | None,
        archive: Any,
        direct: DirectCalls,
        executor: Executor,
        deferred: DeferredTools,
        closer: OrphanCloser,
        restart_policy: RestartPolicy,
    ) -> None:
        self.direct = direct
        self.closer = closer
        self._sessions = sessions
        self._loop = loop
        self._archive = archive
        self._executor = executor
        self._deferred = deferred
        self._restart_policy = restart_policy

    async def converse(self, run: Run) -> RunStatus:
        """Answer everything on the branch; `unheard` messages come last."""
        assert self._loop is not None
        await self._sessions.flush()
        path = await self._archive.path(run.session.id, run.session.leaf)
        late = [entry for entry in path if entry.id in run.unheard]
        messages = to_messages([*(e for e in path if e.id not in run.unheard), *late])
        before = run.before or RunProgress()
        turns = run.turns = self._loop.turns_of(run.agent_id, before.turns)
        turns.messages, turns.tries = messages, before.tries
        turns.quota_subject, turns.attended = run.quota_subject, run.attended
        turns.tools_enabled = run.tools_enabled
        turns.keep = partial(self._restart_policy.keep, run)
        return await self._loop.run(run.session, run.id, turns)

    def abandon(self, run: Run) -> None:
        """Record the calls that a resumed run has not ended."""
        if run.batch is not None:
            _, error = try_call(self._executor.abandon, run.batch)
            if error is not None:
                log.error("cannot record what run %s left behind", run.id, exc_info=error)

    def cut_off(self, run: Run, cut: CutRun) -> None:
        """End the calls that were active when the process ended, and notify the model.

        Synchronous, so that one commit contains all of it, and an interrupted process leaves
        nothing half done.
        """
        progress, session = cut.progress, run.session
        run.before, run.unheard = progress, progress.unheard
        run.quota_subject, run.attended = progress.quota_subject, progress.attended
        run.tools_enabled = progress.tools_enabled
        self._deferred.reveal(run.id, progress.found)
        begun = [event["tool_call_id"] for event in unended(cut.trail)]
        session.log.emit(RunResumed, run_id=run.id, agent_id=run.agent_id, interrupted=begun)
        self.closer.close_open(session.log, cut.trail)
        if cut.turn.results:
            results = list(cut.turn.results)
            self._sessions.append(session, "tool", results, run_id=run.id, agent_id=run.agent_id)

    def rest_of(self, run: Run, suspended: SuspendedBatch) -> Work:
        """Return the rest of a run; its calls wait for their answers again from now on."""
        run.quota_subject = suspended.quota_subject
        if suspended.caller == "agent":
            assert self._loop is not None
            assert suspended.message_id is not None
            run.turns = self._loop.turns_of(run.agent_id, suspended.progress)
            run.turns.quota_subject = run.quota_subject
            run.turns.keep = partial(self._restart_policy.keep, run)
            run.attended = run.turns.attended = suspended.attended
            context = self._loop.context(run.session, run.id, run.turns, suspended.message_id)
            run.batch = self._executor.rebuild(suspended, context)
            return partial(self._continue, run, self._loop, suspended.message_id, run.batch)
        run.attended = suspended.attended
        context = self.direct.context(
            run,
            user_id=suspended.quota_subject.user_id,
            caller=suspended.caller,
            attended=suspended.attended,
            cacheable=suspended.cacheable,
        )
        run.batch = self._executor.rebuild(suspended, context)
        requests = [request for request, _ in suspended.requests]
        return partial(self.direct.resume, run, requests, run.batch)

    async def _continue(
        self, run: Run, loop: AgentLoop, message_id: str, batch: ToolCallBatch
    ) -> RunStatus:
        """Answer the calls of the suspended turn, and take the next one."""
        assert run.turns is not None
        session = run.session
        path = await self._archive.path(session.id, session.leaf)
        if all(entry.id != message_id for entry in path):
            # The person has switched to another branch; the run stays on its branch.
            path = await self._archive.path(session.id, message_id)
        run.turns.messages = to_messages(path)
        turn = next((entry for entry in path if entry.id == message_id), None)
        content = orjson.loads(turn.content) if turn else []
        uses = [block for block in content if block.get("type") == "tool_use"]
        return await loop.resume(run.session, run.id, run.turns, uses, batch)
