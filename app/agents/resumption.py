"""Rest of a run whose process ended while it waited for a person or was active."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import orjson

from app.agents.cleanup import close_open, unended
from app.agents.history import to_messages
from app.agents.loop import AgentLoop
from app.agents.recovery import CutRun
from app.agents.restart_policy import RestartPolicy
from app.agents.run import Run, direct_context
from app.agents.sessions import Sessions
from app.events.durable import RunResumed, RunStatus
from app.execution.batches import SuspendedBatch
from app.execution.call import ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.runtime import Runtime

Work = Callable[[], Awaitable[RunStatus]]
AnswerCalls = Callable[[Run, Sequence[CallRequest], Callable[..., Any]], Awaitable[RunStatus]]


class Resumption:
    """Converts an orphaned run to the state to continue with."""

    def __init__(
        self,
        runtime: Runtime,
        sessions: Sessions,
        loop: AgentLoop | None,
        archive: Any,
        restart_policy: RestartPolicy,
    ) -> None:
        self._runtime = runtime
        self._sessions = sessions
        self._loop = loop
        self._archive = archive
        self._restart_policy = restart_policy

    def cut_off(self, run: Run, cut: CutRun) -> None:
        """End the calls that were active when the process ended, and notify the model.

        Synchronous, so that one commit contains all of it, and an interrupted process leaves
        nothing half done.
        """
        progress, session = cut.progress, run.session
        run.before, run.unheard = progress, progress.unheard
        run.quota_subject, run.attended = progress.quota_subject, progress.attended
        run.tools_enabled = progress.tools_enabled
        self._runtime.deferred.reveal(run.id, progress.found)
        begun = [event["tool_call_id"] for event in unended(cut.trail)]
        session.log.emit(RunResumed, run_id=run.id, agent_id=run.agent_id, interrupted=begun)
        close_open(self._runtime, session.log, cut.trail)
        if cut.turn.results:
            results = list(cut.turn.results)
            self._sessions.append(session, "tool", results, run_id=run.id, agent_id=run.agent_id)

    def work_of(self, run: Run, suspended: SuspendedBatch, answer_calls: AnswerCalls) -> Work:
        """Return the rest of a run; its calls wait for their answers again from now on."""
        executor = self._runtime.executor
        run.quota_subject = suspended.quota_subject
        if suspended.caller == "agent":
            assert self._loop is not None
            assert suspended.message_id is not None
            run.turns = self._loop.turns_of(run.agent_id, suspended.progress)
            run.turns.quota_subject = run.quota_subject
            run.turns.keep = partial(self._restart_policy.keep, run)
            run.attended = run.turns.attended = suspended.attended
            context = self._loop.context(run.session, run.id, run.turns, suspended.message_id)
            run.batch = executor.rebuild(suspended, context)
            return partial(self._converse, run, self._loop, suspended.message_id, run.batch)
        run.attended = suspended.attended
        context = direct_context(
            run,
            self._runtime,
            user_id=suspended.quota_subject.user_id,
            caller=suspended.caller,
            attended=suspended.attended,
            cacheable=suspended.cacheable,
        )
        run.batch = executor.rebuild(suspended, context)
        requests = [request for request, _ in suspended.requests]
        return partial(answer_calls, run, requests, partial(executor.resume, run.batch))

    async def _converse(
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
