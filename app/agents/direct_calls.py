"""Direct calls: a run of exactly the calls that a client sent, without a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from app.agents.model_settings import AgentSettings
from app.agents.run import Run
from app.agents.sessions import BUSINESS, Block, Sessions
from app.core.errors import InvalidArguments
from app.core.redaction import Redactor
from app.events.durable import RunStatus
from app.execution.arguments import parse_object
from app.execution.call import ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.context import CallContext, Caller
from app.execution.executor import Executor
from app.execution.outcome import CallOutcome
from app.execution.projects import Projects
from app.execution.suspension import RunSuspension
from app.toolkit.context import NOTHING

Execute = Callable[..., Awaitable[list[CallOutcome]]]


class DirectCalls:
    """Runs the calls of direct runs, and records them in their sessions."""

    def __init__(
        self,
        sessions: Sessions,
        agents: AgentSettings,
        projects: Projects,
        executor: Executor,
        suspension: RunSuspension,
        redactor: Redactor,
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._projects = projects
        self._executor = executor
        self._suspension = suspension
        self._redactor = redactor

    def context(
        self,
        run: Run,
        *,
        caller: Caller,
        attended: bool,
        cacheable: bool,
        user_id: str | None = None,
    ) -> CallContext:
        """Return the call context of a run without a model; its user is the run's creator.

        Raises:
            NotFound: the project does not exist.
        """
        session = run.session
        return CallContext(
            log=session.log,
            run_id=run.id,
            agent_id=run.agent_id,
            user_id=user_id or run.quota_subject.user_id or session.user_id,
            session_owner=session.user_id,
            project=self._projects.get(session.project_id) if session.project_id else None,
            caller=caller,
            attended=attended,
            cacheable=cacheable,
            quota_subject=run.quota_subject,
            business=session.meta.get(BUSINESS) or NOTHING,
            model=self._agents.model(session, run.agent_id).to_dict(),
        )

    async def run(
        self,
        run: Run,
        requests: list[CallRequest],
        context: CallContext,
        max_workers: int | None,
    ) -> RunStatus:
        """Run the calls of `requests`, of which up to `max_workers` at once."""
        calls = [redacted_call(request, self._redactor) for request in requests]
        self._sessions.append(run.session, "user", calls, run_id=run.id)
        execute = partial(self._executor.run, requests, context, max_workers=max_workers)
        return await self._answered(run, requests, execute)

    async def resume(
        self, run: Run, requests: Sequence[CallRequest], batch: ToolCallBatch
    ) -> RunStatus:
        """Continue calls that waited for a person when their process ended."""
        return await self._answered(run, requests, partial(self._executor.resume, batch))

    async def _answered(
        self, run: Run, requests: Sequence[CallRequest], execute: Execute
    ) -> RunStatus:
        """Run the calls, and record their results in the session."""
        try:
            run.outcomes = await execute(finished=run.finished)
        finally:
            results = [
                {**outcome.tool_result_block(), "direct": True}
                for request in requests
                if (outcome := run.finished.get(request.id)) is not None
            ]
            if results and not self._suspension.is_suspended(run.id):
                self._sessions.append(run.session, "tool", results, run_id=run.id)
        return "success"


def redacted_call(request: CallRequest, redactor: Redactor) -> Block:
    """Return a person's call as history for the model; truncated, because it is not run again."""
    name = redactor.text(request.name)
    block: Block = {"type": "tool_use", "id": request.id, "name": name, "direct": True}
    try:
        arguments = parse_object(request.arguments)
    except InvalidArguments:
        return {**block, "input": {}, "raw_input": redactor.raw_json(str(request.arguments))}
    return {**block, "input": redactor.arguments(arguments)[0]}
