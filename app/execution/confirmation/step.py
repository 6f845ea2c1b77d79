"""Step 6: what happens between "a person must confirm this" and "it may run"."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from app.core.errors import InvalidInput, StorageUnavailable, TollgateError
from app.core.redaction import MASK, Redactor
from app.core.text import dump_json, truncate
from app.db.statements import KEEP_BATCH
from app.db.writer import DatabaseWriter
from app.execution.admission import Admission, denial
from app.execution.batches import kept_of
from app.execution.call import CallConfirmation, CallState, Refusal, ToolCallBatch
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.declines import REFUSED, STOP_AFTER, Declines
from app.execution.confirmation.options import GrantTtls
from app.execution.confirmation.pending import ConfirmationRequest
from app.execution.confirmation.request import (
    confirmation_request,
    reasons_of,
    restored_arguments,
    shown_arguments,
)
from app.execution.confirmation.service import ConfirmationService
from app.execution.confirmation.targets import Targets, targets_of
from app.execution.record import Recorder
from app.execution.suspension import RunSuspension
from app.governance.agents import Unattended
from app.governance.grants import GrantStore

GateCall = Callable[[CallState], Awaitable[bool]]
_MAX_TOLD_CHARS = 8_000


@dataclass(slots=True)
class CallRequester:
    """`Asker` of one call."""

    confirmation_step: ConfirmationStep
    call: CallState

    async def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.confirmation_step.checked(self.call, arguments)

    def released_by(self) -> str | None:
        return self.confirmation_step.released_by(self.call)

    def shown(self, arguments: dict[str, Any]) -> Any:
        return self.confirmation_step.shown(arguments)

    def said(self, words: str) -> str:
        return self.confirmation_step.said(words)


class ConfirmationStep:
    """Asks until the call may run or must not."""

    def __init__(
        self,
        confirmations: ConfirmationService,
        admission: Admission,
        recorder: Recorder,
        db: DatabaseWriter,
        redactor: Redactor,
        grants: GrantStore,
        times: GrantTtls,
        suspension: RunSuspension,
        *,
        unattended: Unattended = "deny",
    ) -> None:
        self._confirmations = confirmations
        self._grants = grants
        self._unattended: Unattended = unattended
        self._admission = admission
        self._recorder = recorder
        self._db = db
        self._redactor = redactor
        self._times = times
        self._suspension = suspension
        self._declines = Declines()
        self._gate: GateCall | None = None

    def bind(self, gate: GateCall) -> None:
        """How arguments that a person edited pass the hooks and the policy again."""
        self._gate = gate

    def refused_at_once(self, call: CallState) -> Refusal | None:
        """Why a call that asks is not even put to a person."""
        times = self._declines.times(call)
        if times >= STOP_AFTER:
            return Refusal("denied", "declined_repeatedly", REFUSED.format(times=times))
        if not self.is_unattended(call):
            return None
        message = "Nobody is available to approve it, so it was not run"
        return Refusal("denied", "unattended", message)

    def is_unattended(self, call: CallState) -> bool:
        """Whether nobody would answer, and nobody shall be waited for."""
        if call.context.attended:
            return False
        profile = self._admission.agent(call.context)
        return ((profile.unattended if profile else None) or self._unattended) == "deny"

    def keep(self, call: CallState) -> None:
        """Keep what a restarted service would need to go on with the call's batch."""
        context, batch = call.context, call.batch
        # A terminal that made the call is gone with the process.
        if batch is None or context.run_id is None or context.caller == "cli":
            return
        if not batch.is_kept:
            batch.is_kept = True
            self._db.append(KEEP_BATCH, (kept_of(batch), context.run_id))

    def released(self, call: CallState) -> None:
        """Count the use of the grant that answered for a person."""
        if call.asked is None and call.decision is not None and call.decision.grant_id is not None:
            self._grants.hit(call.decision.grant_id)

    async def confirm(self, call: CallState) -> Refusal | None:
        """Ask, and check afterwards that what was approved is still what would run."""
        try:
            again = call.asked_again
            while True:
                if call.asked is None:
                    await self._put(call, again)
                assert call.asked is not None
                answer = await self._confirmations.wait(call.asked.id)
                call.asked.by, call.asked.answer = answer.by, answer
                if answer.outcome != "approved":
                    return self._unanswered(call, answer)
                refused = self._accepted(call, answer)
                again = ""
                if refused is None and reasons_of(call) <= call.asked.reasons:
                    if answer.edited_args is not None:
                        # Whoever wrote these arguments has seen no list of what they hit.
                        call.asked.targets = await self._targets(call)
                    else:
                        again = await self._hits_others(call, call.asked)
                    if not again:
                        return None
                self._confirmations.void(call.asked.id)
                if refused is not None:
                    return refused
                call.asked = None
        except TollgateError as error:
            return Refusal("error", error.code, error.message)

    async def must_ask_again(self, call: CallState) -> bool:
        """Whether an approved call, which had to wait for a place, would hit something else.

        Its approval is void then, and `confirm` asks again.
        """
        asked = call.asked
        if asked is None:
            return False
        changed = await self._hits_others(call, asked)
        if not changed:
            return False
        self._confirmations.void(asked.id)
        call.asked, call.asked_again = None, changed
        return True

    async def consume(self, call: CallState) -> Refusal | None:
        """Use the approval and claim the call: together, and at most once."""
        assert call.asked is not None
        # Also when the commit is not seen: whoever records the end must find the row.
        call.is_claimed = True
        try:
            row = self._recorder.row_head(call, "started")
            claimed = await self._confirmations.consume(call.asked.id, row)
        except StorageUnavailable as error:
            return Refusal("error", error.code, f"Not run: {error.message}")
        if claimed:
            return None
        return Refusal(
            "cancelled", "approval_used", "The approval no longer exists; the call was not run"
        )

    def give_up(self, call: CallState) -> None:
        """Take back the question of a call that will not run."""
        if call.asked is not None:
            self._confirmations.give_up(call.asked.id)

    def over(self, batch: ToolCallBatch) -> None:
        """Let go of what was kept for a restart."""
        self._db.append(KEEP_BATCH, (None, batch.calls[0].context.run_id))

    def settled(self, call: CallState) -> None:
        """Leave no approval behind that was not used, when a call has ended otherwise."""
        if call.outcome is not None and not call.is_claimed:
            self.give_up(call)

    def leaves(self, call: CallState) -> bool:
        """Whether a cancelled call stays as it is for the process that comes next."""
        if call.is_claimed or not self._suspension.is_suspended(call.context.run_id):
            return False
        return call.asked is not None or not call.is_started

    def restore(
        self,
        call: CallState,
        confirmation_id: str,
        question: ConfirmationRequest,
        request: dict[str, Any],
        expires: float | None,
        *,
        answer: ConfirmationResolution | None,
        is_told: bool,
    ) -> None:
        """Let a call wait again for the question that a former process put."""
        options = {
            key: option for key, option in question.options.items() if self._times.may_last(option)
        }
        question = replace(question, options=options)
        request = {**request, "options": [option.to_dict() for option in options.values()]}
        self._confirmations.restore(
            confirmation_id,
            call.context.log,
            question,
            request,
            CallRequester(self, call),
            expires,
            answer=answer,
            is_told=is_told,
        )

    # -- for the question -------------------------------------------------------------

    async def checked(self, call: CallState, arguments: dict[str, Any]) -> dict[str, Any]:
        """Edited arguments, validated, judged and through the hooks, as they would run.

        Raises:
            InvalidInput: they do not fit, or are denied; nothing of the answer counts then.
        """
        assert self._gate is not None
        if call.entry is None or call.prepared is None:
            raise InvalidInput("The tool has changed; decline the call", field="edited_args")
        original = call.prepared.raw
        wanted = restored_arguments(arguments, self.shown(original), original)
        if MASK in dump_json(wanted).decode():
            raise InvalidInput(
                f"edited_args contains {MASK}; replace it with the actual value",
                field="edited_args",
            )
        trial = copy.copy(call)
        refused = denial(self._admission.replace_arguments(trial, wanted))
        if refused is None:
            await self._gate(trial)
            refused = trial.refusal
        if refused is not None:
            raise InvalidInput(
                f"Invalid edited arguments: {refused.message}",
                field="edited_args",
                reason=refused.code,
            )
        assert trial.prepared is not None
        return trial.prepared.raw

    def released_by(self, call: CallState) -> str | None:
        """The grant that answers the call's question by now."""
        if call.prepared is None or _hook_asks(call):
            return None
        trial = copy.copy(call)
        if self._admission.readmit(trial) is not None or trial.decision is None:
            return None
        return None if reasons_of(trial) else trial.decision.grant_id

    def shown(self, arguments: dict[str, Any]) -> Any:
        """Arguments fit to be seen."""
        return shown_arguments(arguments, self._redactor)

    def said(self, words: str) -> str:
        """What a person wrote, without secrets."""
        return self._redactor.text(words)

    # -- within -----------------------------------------------------------------------

    async def _targets(self, call: CallState) -> Targets:
        """What the call would hit now."""
        if call.decision is None or not call.decision.resolved_targets:
            return Targets()
        return await targets_of(call.decision.resolved_targets, call.context.project)

    async def _hits_others(self, call: CallState, asked: CallConfirmation) -> str:
        """How what the call would hit differs from what the person saw, in words; "" if not.

        An approval that was to last is taken back with the one that it came with.
        """
        grant_id = asked.answer.grant_id if asked.answer is not None else None
        if not _may_hit(call, asked) or _is_covered_elsewhere(call, asked.answer):
            return ""
        changed = asked.targets.changed(await self._targets(call))
        if changed and grant_id is not None:
            await self._grants.revoke(grant_id, by="system")
            self._admission.readmit(call)
        return changed

    async def _put(self, call: CallState, again: str = "") -> None:
        """Ask, and keep what a restarted service would need.

        Args:
            again: why the call is asked about once more.
        """
        assert call.decision is not None
        context = call.context
        profile = self._admission.agent(context)
        targets = await self._targets(call)
        question = confirmation_request(
            call,
            redactor=self._redactor,
            times=self._times,
            pattern=self._pattern(call),
            targets=targets,
            again=again,
            agent=profile.title or None if profile else None,
        )
        confirmation_id = self._confirmations.put(context.log, question, CallRequester(self, call))
        call.asked = CallConfirmation(confirmation_id, reasons_of(call), targets=targets)
        call.asked_again = ""
        self.keep(call)

    def _pattern(self, call: CallState) -> dict[str, Any] | None:
        """What a lasting approval would cover; None when none may be offered.

        A hook's question is its own: no grant answers it. What is masked cannot be shown in
        full, and so cannot be approved for later.
        """
        assert call.prepared is not None
        if _hook_asks(call) or self._redactor.arguments(call.prepared.raw)[1]:
            return None
        return self._admission.pattern(call)

    def _accepted(self, call: CallState, answer: ConfirmationResolution) -> Refusal | None:
        """Decide once more, right before the call runs, with what the person approved."""
        assert call.asked is not None
        edited = answer.edited_args
        if edited is not None and call.entry is not None:
            self._admission.replace_arguments(call, edited)
            # Whoever wrote these arguments approved exactly them, whatever they ask.
            call.asked.reasons |= reasons_of(call)
            shown = call.arguments_json = self._recorder.stored_arguments(call)
            call.note = (
                "A person changed the arguments before approving the call. It ran with: "
                + truncate(shown, _MAX_TOLD_CHARS)
            )
        return self._admission.readmit(call)

    def _unanswered(self, call: CallState, answer: ConfirmationResolution) -> Refusal:
        if answer.outcome == "declined":
            message = "A person declined this call; it was not run"
            if answer.message:
                message += f". Reason: {answer.message}"
            if enough := self._declines.note(call):
                message += f"\n{enough}"
            return Refusal("declined", "declined", message)
        if answer.outcome == "expired":
            return Refusal(
                "expired",
                "expired",
                "The confirmation expired without an answer; the call was not run",
            )
        return Refusal("cancelled", "cancelled", "The call was cancelled before it ran")


def _may_hit(call: CallState, asked: CallConfirmation) -> bool:
    """Whether the call hits something by now, and a list of it was made."""
    return bool(asked.targets.digest and call.decision and call.decision.resolved_targets)


def _is_covered_elsewhere(call: CallState, answer: ConfirmationResolution | None) -> bool:
    """Whether the call runs by a lasting approval that was given for another question."""
    if answer is not None and answer.is_released:
        return True
    decision = call.decision
    granted = decision is not None and decision.grant_id is not None
    return granted and (answer is None or answer.grant_id is None)


def _hook_asks(call: CallState) -> bool:
    """Whether a hook asks for a reason of its own, and not for what policy found."""
    reason = call.decision.reason if call.decision else ""
    return any(asked != reason for asked in call.ask_reasons)
