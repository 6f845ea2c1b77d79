"""Agent loop: ask the model, run its calls, return the results, until it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.agents.budget import Budget, Spending
from app.agents.context.images import result_block
from app.agents.history import DELEGATED, NOT_RUN, missing_result
from app.agents.message_stream import MessageStream
from app.agents.model_request import call_of
from app.agents.model_settings import AgentSettings
from app.agents.model_turn import ModelTurn
from app.agents.models.failures import cut_in_a_call
from app.agents.models.protocol import Completed
from app.agents.sessions import BUSINESS, Block, Session, Sessions
from app.agents.turn_input import RunRequestState
from app.core.errors import ModelFailed
from app.core.ids import new_id
from app.core.loop_pacer import LoopPacer
from app.domain.delegation import DELEGATION
from app.events.durable import RunStatus
from app.execution.call import ToolCallBatch
from app.execution.context import CallContext, Project
from app.execution.executor import Executor
from app.execution.outcome import CallOutcome
from app.execution.projects import Projects
from app.execution.suspension import RunSuspension
from app.governance.limits import NOBODY, QuotaSubject
from app.toolkit.context import NOTHING
from app.toolkit.services import Services

Execute = Callable[..., Awaitable[list[CallOutcome]]]
TOOLS_OFF = "Not run: tools are disabled for this message. Answer without them."
STOPPED = "The run was cancelled before this call finished."


@dataclass(slots=True)
class ModelOverride:
    """Handover state of a run between its own and a stronger model.

    Attributes:
        model: stronger model; None before the handover.
        left: number of requests it still answers.
        times: number of handovers.
    """

    model: str | None = None
    left: int = 0
    times: int = 0

    @property
    def current(self) -> str | None:
        """Return the model that answers the next request instead of the run's own."""
        return self.model if self.left else None

    def raise_to(self, model: str, requests: int) -> None:
        """Hand over the next requests."""
        self.model, self.left, self.times = model, requests, self.times + 1

    def spend(self, asked: str) -> None:
        """Count a request answered by the `asked` model."""
        if self.left and asked == self.model:
            self.left -= 1

    def fields(self) -> dict[str, Any]:
        """Return the state that must survive a restart."""
        return {"model": self.model, "left": self.left, "times": self.times}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ModelOverride:
        """Parse the output of `fields`; empty fields mean no handover."""
        return cls(fields.get("model"), fields.get("left", 0), fields.get("times", 0))


@dataclass(slots=True)
class LoopState:
    """State of a run's loop.

    Attributes:
        messages: conversation as the model reads it; grows with every turn.
        agent_id: agent of the turns; its profile is read again for each.
        spending: usage of its requests.
        taken: number of turns so far.
        steering: user messages (ID, content) that arrived during the turn, for the next one.
        quota_subject: subject that its requests and calls are counted for.
        attended: a client can, or may later, answer confirmations.
        tries: restarts after a crash since its calls last finished.
        keep: called when a step has finished, before anything else.
        tools_enabled: whether its model may call tools.
        is_left: the run stops with the service, and the next process continues it.
        asker: request state of the run, created at its first request.
        tier: stronger model for some of its requests.
    """

    messages: list[dict[str, Any]]
    agent_id: str | None = None
    spending: Spending = field(default_factory=Spending)
    steering: list[tuple[str, list[Block]]] = field(default_factory=list)
    stop_reason: str | None = None
    taken: int = 0
    quota_subject: QuotaSubject = NOBODY
    attended: bool = True
    tools_enabled: bool = True
    tries: int = 0
    keep: Callable[[], None] = lambda: None
    is_left: bool = False
    asker: RunRequestState | None = None
    tier: ModelOverride = field(default_factory=ModelOverride)

    def progress(self) -> dict[str, Any]:
        """Return the state that must survive while a call waits for a person."""
        return {
            "usage": self.spending.fields(),
            "stop_reason": self.stop_reason,
            "taken": self.taken,
            "tier": self.tier.fields(),
        }


class AgentLoop:
    """Runs turns for one session at a time; has no state between runs."""

    def __init__(
        self,
        sessions: Sessions,
        turn: ModelTurn,
        budget: Budget,
        agents: AgentSettings,
        projects: Projects,
        executor: Executor,
        suspension: RunSuspension,
        services: Services,
    ) -> None:
        self._sessions = sessions
        self._turn = turn
        self._budget = budget
        self._agents = agents
        self._projects = projects
        self._executor = executor
        self._suspension = suspension
        self._services = services
        self._pacer = LoopPacer()

    async def run(self, session: Session, run_id: str, turns: LoopState) -> RunStatus:
        """Run turns until the model is done or the iteration limit is reached.

        Raises:
            ModelFailed: the provider failed; earlier entries stay in the session.
            NotFound: the agent does not exist.
            BudgetExceeded: the session has used up its tokens or its cost limit.
            ContextFull: the required part of the conversation does not fit.
        """
        try:
            return await self._take_turns(session, run_id, turns)
        finally:
            self._turn.inputs.forget(run_id)

    async def resume(
        self,
        session: Session,
        run_id: str,
        turns: LoopState,
        uses: list[Block],
        batch: ToolCallBatch,
    ) -> RunStatus:
        """Continue a run whose calls waited for a person when its process ended."""
        execute = partial(self._executor.resume, batch)
        await self._answered(session, run_id, turns, uses, execute)
        return await self.run(session, run_id, turns)

    def turns_of(self, agent_id: str | None, progress: Mapping[str, Any]) -> LoopState:
        """Restore the state from `LoopState.progress`; the messages are stored in the session."""
        return LoopState(
            [],
            agent_id,
            Spending.of(progress.get("usage", {})),
            stop_reason=progress.get("stop_reason"),
            taken=progress.get("taken", 0),
            tier=ModelOverride.of(progress.get("tier", {})),
        )

    async def _take_turns(self, session: Session, run_id: str, turns: LoopState) -> RunStatus:
        while turns.taken < self._agents.max_iterations(turns.agent_id):
            turns.taken += 1
            model = turns.tier.current or self._agents.current_model(session, turns.agent_id).model
            self._budget.check(
                session, model=model, agent_id=turns.agent_id, quota_subject=turns.quota_subject
            )
            completed, message_id = await self._ask(session, run_id, turns)
            self._budget.add(
                session,
                model=completed.asked or model,
                usage=completed.usage,
                spending=turns.spending,
            )
            turns.tier.spend(model)
            turns.stop_reason = completed.stop_reason
            content = list(completed.content)
            if content:
                self._sessions.append(
                    session,
                    "assistant",
                    content,
                    run_id=run_id,
                    entry_id=message_id,
                    agent_id=turns.agent_id,
                    model=completed.asked or model,
                )
                turns.messages.append({"role": "assistant", "content": content, "id": message_id})
            turns.keep()
            if completed.stop_reason == "refusal":
                return "refused"
            if completed.dropped_tool_uses:
                raise cut_in_a_call(completed)
            uses = [block for block in content if block.get("type") == "tool_use"]
            if uses and not turns.tools_enabled:
                self._refuse(session, run_id, turns, uses)
            elif uses:
                await self._act(session, run_id, turns, uses, message_id)
            elif not self._steered(session, run_id, turns):
                return "success"
        return "max_turns"

    async def _ask(self, session: Session, run_id: str, turns: LoopState) -> tuple[Completed, str]:
        """Send one model request, streamed to the session's clients."""
        message_id = new_id("msg")
        head: dict[str, Any] = {"run_id": run_id}
        if turns.agent_id:
            head["agent_id"] = turns.agent_id
        live = MessageStream(session.log, head, message_id)
        try:
            asker = self._asker(session, run_id, turns)
            profile = self._agents.profile(turns.agent_id)
            completed = await self._turn.ask(session, asker, turns.messages, live, profile)
        except (asyncio.CancelledError, ModelFailed):
            # The process that continues the run sends the request again.
            if not turns.is_left:
                self._keep_partial(session, run_id, turns, live.text())
            raise
        finally:
            live.close()
        return completed, message_id

    def _asker(self, session: Session, run_id: str, turns: LoopState) -> RunRequestState:
        """Return the requester, according to the agent's current profile."""
        chosen = self._agents.current_model(session, turns.agent_id)
        asker = turns.asker
        if asker is None:
            asker = turns.asker = RunRequestState(
                run_id=run_id,
                session_id=session.id,
                agent_id=turns.agent_id,
                user_id=turns.quota_subject.user_id or session.user_id,
                spending=turns.spending,
            )
        asker.tools_enabled, asker.project = turns.tools_enabled, self._project(session)
        asker.model = turns.tier.current or chosen.model
        asker.max_tokens, asker.temperature = chosen.max_tokens, chosen.temperature
        return asker

    def _keep_partial(self, session: Session, run_id: str, turns: LoopState, text: str) -> None:
        """Store the partial message of an aborted response in the session."""
        if text.strip():
            content: list[Block] = [{"type": "text", "text": text}]
            kept = self._sessions.append(
                session, "assistant", content, run_id=run_id, agent_id=turns.agent_id
            )
            turns.messages.append({"role": "assistant", "content": content, "id": kept})

    async def _act(
        self, session: Session, run_id: str, turns: LoopState, uses: list[Block], message_id: str
    ) -> None:
        """Run the calls of one turn together, and answer every one of them."""
        requests = [call_of(block) for block in uses]
        context = self.context(session, run_id, turns, message_id)
        names = (request.name for request in requests)
        self._turn.inputs.remember_used(run_id, turns.agent_id, names)
        execute = partial(self._executor.run, requests, context)
        await self._answered(session, run_id, turns, uses, execute)

    def _refuse(self, session: Session, run_id: str, turns: LoopState, uses: list[Block]) -> None:
        """Answer calls of a model that was offered no tools."""
        results = [missing_result(use["id"], TOOLS_OFF) for use in uses]
        self._add_results(session, run_id, turns, results)
        self._steered(session, run_id, turns)

    async def _answered(
        self, session: Session, run_id: str, turns: LoopState, uses: list[Block], execute: Execute
    ) -> None:
        """Run calls and store their results, unless left to the next process."""
        finished: dict[str, CallOutcome] = {}
        try:
            # Responses that arrive together must not run all their calls before other work.
            await self._pacer.next()
            await execute(finished=finished)
        finally:
            self._tell_results(session, run_id, turns, uses, finished)
        self._steered(session, run_id, turns)
        # Results must be stored before the next request, which depends on them.
        await self._sessions.flush()

    def _tell_results(
        self,
        session: Session,
        run_id: str,
        turns: LoopState,
        uses: list[Block],
        finished: dict[str, CallOutcome],
    ) -> None:
        if not self._suspension.is_suspended(run_id):
            results = [
                result_block(finished[use["id"]].noted(self._left_by(finished[use["id"]])))
                if use["id"] in finished
                else missing_result(use["id"], NOT_RUN if turns.is_left else STOPPED)
                for use in uses
            ]
            self._add_results(session, run_id, turns, results)

    def _add_results(
        self, session: Session, run_id: str, turns: LoopState, results: list[Block]
    ) -> None:
        kept = self._sessions.append(
            session, "tool", results, run_id=run_id, agent_id=turns.agent_id
        )
        turns.messages.append({"role": "user", "content": results, "id": kept})
        # Only now: one of the calls may crash the service each time.
        turns.tries = 0
        turns.keep()

    def _left_by(self, outcome: CallOutcome) -> str:
        """Return the note on a call whose sub-agents the next process continues."""
        delegation = self._services.get(DELEGATION)
        batch_id = delegation and delegation.left_by(outcome.operation_id)
        return DELEGATED.format(batch_id=batch_id) if batch_id else ""

    def _steered(self, session: Session, run_id: str, turns: LoopState) -> bool:
        """Add user messages that arrived meanwhile; return whether there were any."""
        steering, turns.steering = turns.steering, []
        for message_id, content in steering:
            turns.messages.append({"role": "user", "content": content, "id": message_id})
        return bool(steering)

    def _project(self, session: Session) -> Project | None:
        """Return the session's project. Raises: NotFound."""
        return self._projects.get(session.project_id) if session.project_id else None

    def context(
        self, session: Session, run_id: str, turns: LoopState, message_id: str
    ) -> CallContext:
        """Return the context of this run's calls."""
        return CallContext(
            log=session.log,
            run_id=run_id,
            agent_id=turns.agent_id,
            user_id=turns.quota_subject.user_id or session.user_id,
            session_owner=session.user_id,
            project=self._project(session),
            caller="agent",
            attended=turns.attended,
            message_id=message_id,
            progress=turns.progress,
            quota_subject=turns.quota_subject,
            business=session.meta.get(BUSINESS) or NOTHING,
            model=self._agents.current_model(session, turns.agent_id).to_dict(),
        )
