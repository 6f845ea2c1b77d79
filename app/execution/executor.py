"""Executor: the single entry point of every tool call, from any caller and for any tool.

    look up → decide → validate → pre hooks → dedupe → confirm → run → post hooks → record

Each call emits exactly one `tool_call_started` and one `tool_call_completed`, even if it is
refused, cached, skipped or cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from app.core.error_boundary import ErrorBoundary
from app.core.errors import InvalidArguments, StorageUnavailable, TollgateError
from app.core.text import truncate
from app.db.writer import DatabaseWriter
from app.execution.admission import Admission, denial
from app.execution.batch_recovery import BatchRecovery
from app.execution.batches import SuspendedBatch
from app.execution.call import CallState, Refusal, ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.confirmation.request import reasons_of
from app.execution.confirmation.step import ConfirmationResult, ConfirmationStep
from app.execution.context import CallContext
from app.execution.execution import Execution
from app.execution.hooks.chain import Hooks
from app.execution.hooks.model import HookDenied, HookType
from app.execution.hooks.view import after_call, before_call
from app.execution.interactions.pending_inputs import PendingInputs
from app.execution.limits.limiter import Limiter
from app.execution.outcome import CallEnd, CallOutcome
from app.execution.record import Recorder
from app.execution.runner import ToolExecution
from app.policy.decision import ALLOW, Decision
from app.policy.facts import CallFacts
from app.policy.risk.model import Verdict

EDITED = "A person changed the arguments before approving the call. It ran with: "
_MAX_SHOWN_CHARS = 8_000


class Executor:
    """Executor of batches of calls. Built once, in the composition root."""

    def __init__(
        self,
        *,
        admission: Admission,
        hooks: Hooks,
        limits: Limiter,
        confirmation_step: ConfirmationStep,
        execution: Execution,
        recorder: Recorder,
        waiting: PendingInputs,
        db: DatabaseWriter,
    ) -> None:
        self._admission = admission
        self._hooks = hooks
        self._limits = limits
        self._confirmation_step = confirmation_step
        self._execution = execution
        self._recorder = recorder
        self._outcomes = execution.outcomes
        self._waiting = waiting
        self._db = db
        self._batch_recovery = BatchRecovery(
            admission, confirmation_step, recorder, execution.outcomes, waiting
        )
        self._running: dict[str, CallState] = {}
        confirmation_step.bind(self._try)
        waiting.bind(self._running.get)

    async def run(
        self,
        requests: Sequence[CallRequest],
        context: CallContext,
        *,
        max_workers: int | None = None,
        finished: dict[str, CallOutcome] | None = None,
    ) -> list[CallOutcome]:
        """Run a batch; return outcomes in the order of the requests.

        `finished` receives each outcome by call ID as it arrives, so that a cancelled caller still
        knows the outcomes so far. Cancelling the caller cancels every call of the batch; each is
        recorded as cancelled before the cancellation propagates.
        """
        calls = [self._admission.take_up(r, i, context) for i, r in enumerate(requests)]
        batch = ToolCallBatch(calls, max_workers)
        return await self._carry_out(batch, {} if finished is None else finished)

    def foresee(self, request: CallRequest, context: CallContext) -> CallState:
        """Decide about a call as far as its hooks, without running or counting it."""
        return self._admission.take_up(request, 0, context, is_real=False)

    def facts(self, call: CallState) -> CallFacts | None:
        """Return what policy knows about a foreseen call."""
        return self._admission.facts(call)

    def rebuild(self, suspended: SuspendedBatch, context: CallContext) -> ToolCallBatch:
        """Rebuild a batch left by a previous process; its open questions can be answered now."""
        return self._batch_recovery.rebuild(suspended, context)

    async def resume(
        self, batch: ToolCallBatch, finished: dict[str, CallOutcome]
    ) -> list[CallOutcome]:
        """Continue a rebuilt batch like `run`, except for steps already taken."""
        return await self._carry_out(batch, finished)

    async def _carry_out(
        self, batch: ToolCallBatch, sink: dict[str, CallOutcome]
    ) -> list[CallOutcome]:
        if len(batch.calls) == 1:
            outcomes = [await self._settle(batch.calls[0], None, sink)]
        else:
            outcomes = await self._settle_all(batch, sink)
        if batch.is_kept:
            self._confirmation_step.over(batch)
        batch.let_go()
        return outcomes

    async def _settle_all(
        self, batch: ToolCallBatch, sink: dict[str, CallOutcome]
    ) -> list[CallOutcome]:
        calls = batch.calls
        _pair_twins(calls)
        workers = max(1, min(batch.max_workers or self._limits.max_workers, 6))
        if workers == 1:
            return await self._one_by_one(calls, sink)
        slots = asyncio.Semaphore(workers)
        tasks = [asyncio.create_task(self._settle(call, slots, sink)) for call in calls]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                # A cancelled call may be cleaning up: do not cancel it twice.
                if not task.cancelling():
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _one_by_one(
        self, calls: list[CallState], finished: dict[str, CallOutcome]
    ) -> list[CallOutcome]:
        """Run calls in order: each ends before the next starts."""
        try:
            return [await self._settle(call, None, finished) for call in calls]
        except BaseException:
            for call in calls:
                if call.outcome is None and not self._leaves(call):
                    self._waiting.give_up(call)
                    _resolve(call, self._end(call, self._outcomes.cancelled(call)), finished)
            raise

    def abandon(self, batch: ToolCallBatch) -> None:
        """End the calls of a rebuilt batch that were not continued; not used after `resume`."""
        for call in batch.calls:
            if call.outcome is None and not self._leaves(call):
                self._confirmation_step.give_up(call)
                self._waiting.give_up(call)
                self._end(call, self._outcomes.cancelled(call))

    def _leaves(self, call: CallState) -> bool:
        """Return whether a cancelled call is left unchanged for the next process."""
        return self._confirmation_step.leaves(call) or self._waiting.leaves(call)

    def cancel(self, session_id: str, target: str) -> bool:
        """Stop one running call, given by call or operation ID; False if it is not running."""
        call = next(
            (
                call
                for call in self._running.values()
                if call.context.session_id == session_id
                and target in (call.request.id, call.operation_id)
            ),
            None,
        )
        if call is None or call.task is None:
            return False
        call.cancel_requested = True
        call.task.cancel()
        return True

    def running(self, session_id: str) -> list[str]:
        """Return the IDs of the active calls of a session."""
        return [
            call.request.id
            for call in self._running.values()
            if call.context.session_id == session_id
        ]

    async def _settle(
        self, call: CallState, slots: asyncio.Semaphore | None, finished: dict[str, CallOutcome]
    ) -> CallOutcome:
        """Run one call to its outcome, whatever happens.

        Only a call left to the next process has no outcome.
        """
        if call.outcome is not None:
            _resolve(call, call.outcome, finished)
            return call.outcome
        task = call.task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        self._running[call.operation_id] = call
        try:
            with ErrorBoundary(task) as held:
                await self._govern(call, slots)
            outcome = call.outcome or self._end(call, self._outcomes.broken(call, held.error))
            _resolve(call, outcome, finished)
        except asyncio.CancelledError:
            if call.outcome is None and self._leaves(call):
                raise
            # Its end may be recorded already, while hooks are still notified.
            outcome = call.outcome or self._end(call, self._outcomes.cancelled(call))
            _resolve(call, outcome, finished)
            if not (call.cancel_requested and task.uncancel() <= cancelling):
                raise
        finally:
            self._limits.leave(call)
            if call.asked is not None:
                self._confirmation_step.settled(call)
            self._waiting.settled(call)
            del self._running[call.operation_id]
            if call.done is not None and not call.done.done():
                call.done.cancel()
        return outcome

    async def _govern(self, call: CallState, slots: asyncio.Semaphore | None) -> CallOutcome:
        if call.refusal is None and call.duplicate_of is not None:
            return await self._share(call, call.duplicate_of)
        limited = self._limits.concerns(call.context)
        if call.asked is not None:
            # Admitted by a previous process: it waits at the same step.
            await self._confirm(call)
        elif call.is_started:
            # Also admitted, and started: it continues to wait for its request, if still permitted.
            if call.refusal is None:
                call.take(self._admission.readmit(call))
        else:
            if call.refusal is None and slots is None and call.index:
                # Earlier calls ran in between: the decision made for the batch may be outdated.
                call.take(self._admission.readmit(call))
            if (kept := await self._judge(call, limited=limited)) is not None:
                self._start(call)
                return await self._end_unrun(call, await self._outcomes.repeated(call, kept))
        while call.refusal is None:
            outcome = await self._placed(call, slots, limited=limited)
            if outcome is not None:
                return outcome
            # What a person agreed to is no longer what it would hit.
            await self._confirm(call)
        return await self._refuse(call, call.refusal)

    async def _placed(
        self, call: CallState, slots: asyncio.Semaphore | None, *, limited: bool
    ) -> CallOutcome | None:
        """Run it in a slot of its batch; None if a person must be asked again."""
        if slots is None or (call.tool is not None and call.tool.interactive):
            # A call that waits for a person does not occupy a slot of the batch.
            return await self._turn(call, limited=limited, in_batch=False, waited=limited)
        waited = limited or slots.locked()
        async with slots:
            return await self._turn(call, limited=limited, in_batch=True, waited=waited)

    async def _judge(self, call: CallState, *, limited: bool) -> CallOutcome | None:
        """Run everything that precedes the call; return a stored result if it need not run."""
        asks = False
        if call.refusal is None and limited:
            call.refusal = await self._limits.admit(call)
        if call.refusal is None:
            asks = await self._gate(call)
        # One approval is for one call: a call that asks is never answered from the cache.
        if call.refusal is None and not asks:
            kept = self._execution.cached(call)
            if kept is not None:
                return kept
        if call.refusal is None and asks:
            call.refusal = self._confirmation_step.refused_at_once(call)
        self._start(call, asks=asks and call.refusal is None)
        if call.refusal is None and asks:
            await self._confirm(call)
        return None

    async def _turn(
        self, call: CallState, *, limited: bool, in_batch: bool, waited: bool
    ) -> CallOutcome | None:
        """Run it once there is a slot; a waiting call is not claimed yet.

        None if it would now affect other targets than a person approved.
        """
        if limited and not (call.tool is not None and call.tool.interactive):
            call.refusal = await self._limits.enter(call, in_batch=in_batch)
        if call.refusal is None and (waited or call.runs_files(in_batch=in_batch)):
            self._decide_again(call)
            if call.refusal is None and (changed := await self._confirmation_step.recheck(call)):
                self._confirmed(call, changed)
                self._limits.leave(call)
                return None
        if call.refusal is None and call.leaves_a_trace and not call.is_claimed:
            call.refusal = await self._claim(call)
        if call.refusal is not None:
            return await self._refuse(call, call.refusal)
        ran = ToolExecution()
        try:
            end = await self._execution.run(call, ran)
        except asyncio.CancelledError:
            call.partial = ran.partial()
            raise
        return self._end(call, end)

    def _start(self, call: CallState, *, asks: bool = False) -> None:
        """Record that the gate took the call up. Once per call."""
        call.started_at, call.arguments_json = self._recorder.started(
            call, awaits_confirmation=asks
        )
        call.is_started = True
        if asks or call.refusal is not None:
            self._recorder.decided(call)

    def _end(self, call: CallState, end: CallEnd) -> CallOutcome:
        """Record the end of a call and report it to every client. Once per call."""
        if not call.is_started:
            self._start(call)
        call.outcome = end.outcome
        self._recorder.completed(call, end)
        return end.outcome

    async def _end_unrun(self, call: CallState, end: CallEnd) -> CallOutcome:
        """As `_end`, for a call that did not run: hooks that watch get the reason."""
        outcome = self._end(call, end)
        is_error = outcome.status in ("invalid_arguments", "error")
        kind = HookType.TOOL_ERROR if is_error else HookType.TOOL_SKIP
        if self._hooks.of(kind, call.tool_name):
            await self._hooks.notify(kind, after_call(call, outcome.result, end.unrun))
        return outcome

    async def _refuse(self, call: CallState, refusal: Refusal) -> CallOutcome:
        """End a call that must not run, and what it waited for."""
        self._waiting.give_up(call)
        return await self._end_unrun(call, self._outcomes.refused(call, refusal))

    async def _confirm(self, call: CallState) -> None:
        """Ask until what was approved is still what would run, or the call must not run."""
        step = self._confirmation_step
        try:
            while True:
                if call.asked is None:
                    call.asked, call.asked_again = await step.ask(call), ""
                    step.keep(call)
                answer = await step.answer(call.asked)
                call.asked.by, call.asked.answer = answer.by, answer
                self._confirmed(call, await step.settle(call, call.asked, answer))
                if call.asked is not None:
                    return
        except TollgateError as error:
            call.refusal = Refusal("error", error.code, error.message)

    def _confirmed(self, call: CallState, result: ConfirmationResult) -> None:
        """Continue with what an answer came to."""
        call.take(result.found)
        call.asked, call.asked_again = result.asked, result.again
        if result.is_edited:
            call.ask_reasons = result.ask_reasons
            call.arguments_json = self._recorder.stored_arguments(call)
            call.note = EDITED + truncate(call.arguments_json, _MAX_SHOWN_CHARS)

    async def _try(self, call: CallState, arguments: dict[str, Any]) -> CallState:
        """The call as it would be with other arguments, hooks included; it is not made."""
        trial = call.judged(self._admission.with_arguments(call, arguments))
        if trial.refusal is None:
            await self._gate(trial)
        return trial

    def _decide_again(self, call: CallState) -> None:
        """Refuse a call that must not run any more after it waited for a place.

        A call that did not need approval at first is refused, not asked about, while others wait:
        the caller may make the call again.
        """
        known = reasons_of(call) if call.asked is None else call.asked.reasons
        call.take(self._admission.readmit(call))
        if call.refusal is None and not reasons_of(call) <= known:
            message = "The reason for its confirmation changed while it waited; call it again"
            call.refusal = Refusal("denied", "decision_changed", message)

    async def _gate(self, call: CallState) -> bool:
        """Run the pre hooks, then decide finally; return whether a person must confirm."""
        assert call.tool is not None
        assert call.prepared is not None
        assert call.decision is not None
        reasons: Sequence[str] = ()
        plan = self._hooks.plan(call.tool_name)
        if plan.pre_with_findings if call.decision.findings else plan.pre:
            try:
                pre = await self._hooks.before(
                    before_call(call), partial(self._replace_arguments, call)
                )
            except HookDenied as denied:
                code = "hook_failed" if denied.broken else "hook_denied"
                call.refusal = Refusal("denied", code, denied.message)
                return False
            except InvalidArguments as error:
                message = f"Invalid arguments from a hook: {error.message}"
                call.refusal = Refusal("invalid_arguments", error.code, message, error.details)
                return False
            reasons = pre.ask_reasons
        call.ask_reasons = reasons
        decision = call.decision
        call.refusal = None if decision is ALLOW else denial(decision)
        if call.refusal is None and (times := self._execution.repeats(call)):
            message = (
                f"This exact call returned the same result {times} times; it was not run again"
            )
            call.refusal = Refusal("denied", "loop_detected", message)
        if decision is ALLOW:
            return bool(reasons)
        # Findings ask through the built-in hook, which an operator may disable.
        return bool(reasons) or (
            decision.verdict is Verdict.ASK and (decision.asks or not decision.findings)
        )

    def _replace_arguments(self, call: CallState, arguments: dict[str, Any]) -> Decision:
        """Judge a call with the arguments that a hook put in place."""
        call.take(self._admission.with_arguments(call, arguments))
        assert call.decision is not None
        return call.decision

    async def _claim(self, call: CallState) -> Refusal | None:
        """Commit the row before a side effect, so that a crash leaves a record."""
        assert call.tool is not None
        if call.decision is not None and call.decision.grant_id is not None:
            used_up = self._confirmation_step.released(call)
            if used_up is not None:
                return used_up
        if call.asked is not None:
            # Also when the commit is not seen: whoever records the end must find the row.
            call.is_claimed = True
            row = self._recorder.row_head(call, "started")
            return await self._confirmation_step.consume(call.asked, row)
        if not call.tool.has_side_effects:
            return None
        try:
            self._recorder.claimed(call)
            call.is_claimed = True
            await self._db.flush()
        except StorageUnavailable as error:
            return Refusal("error", error.code, f"Not run: {error.message}")
        return None

    async def _share(self, call: CallState, duplicate_of: CallState) -> CallOutcome:
        """Wait for an equal call of this batch and share its result."""
        assert duplicate_of.done is not None
        first = await asyncio.shield(duplicate_of.done)
        self._start(call)
        end = await self._outcomes.skipped(call, duplicate_of, first)
        return await self._end_unrun(call, end)


def _pair_twins(calls: list[CallState]) -> None:
    """Point each call at the first equal one before it, with no write in between."""
    if len(calls) < 2:
        return
    first: dict[tuple[str, bytes], CallState] = {}
    for call in calls:
        if call.refusal is not None or call.prepared is None:
            continue
        duplicate_of = first.get(call.key)
        if duplicate_of is None:
            if call.tool is not None and call.tool.has_side_effects:
                first.clear()
            first[call.key] = call
            continue
        call.duplicate_of = duplicate_of
        if duplicate_of.done is None:
            duplicate_of.done = asyncio.get_running_loop().create_future()


def _resolve(call: CallState, outcome: CallOutcome, finished: dict[str, CallOutcome]) -> None:
    finished[call.request.id] = outcome
    if call.done is not None and not call.done.done():
        call.done.set_result(outcome)
