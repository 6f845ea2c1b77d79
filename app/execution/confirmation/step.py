"""Step 6: confirmation of a call, until it may run or is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from app.core.errors import InvalidInput, StorageUnavailable
from app.core.redaction import MASK, Redactor
from app.core.text import dump_json
from app.db.statements import KEEP_BATCH
from app.db.writer import DatabaseWriter, Row
from app.execution.admission import Admission
from app.execution.batches import kept_of
from app.execution.call import CallConfirmation, CallState, Judgement, Refusal, ToolCallBatch
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.declines import REFUSED, STOP_AFTER, Declines
from app.execution.confirmation.options import GrantTtls
from app.execution.confirmation.pending_confirmations import ConfirmationRequest
from app.execution.confirmation.request import (
    EDITED,
    confirmation_request,
    reasons_of,
    restored_arguments,
    shown_arguments,
)
from app.execution.confirmation.service import ConfirmationService
from app.execution.confirmation.targets import Targets, targets_of
from app.execution.context import CallContext
from app.execution.suspension import RunSuspension
from app.governance.agents import Unattended
from app.governance.grants import GrantStore

UNATTENDED = "No one is available to approve it, so it was not run"
_RISKS = ("low", "medium", "high", "critical")
Trial = Callable[[CallState, dict[str, Any]], Awaitable[CallState]]


@dataclass(slots=True)
class ConfirmationResult:
    """What an answer comes to.

    Attributes:
        found: the call as it stands now; its refusal says why it must not run.
        asked: the approval that it runs on; None where it has to be asked about again.
        again: why.
        is_edited: a person changed its arguments.
        ask_reasons: why hooks ask about the edited arguments.
    """

    found: Judgement
    asked: CallConfirmation | None
    again: str = ""
    is_edited: bool = False
    ask_reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class CallRequester:
    """`Requester` of one call."""

    confirmation_step: ConfirmationStep
    call: CallState

    async def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.confirmation_step.checked(self.call, arguments)

    def released_by(self) -> str | None:
        return self.confirmation_step.released_by(self.call)


class ConfirmationStep:
    """Asks a person about a call. It returns what came of it, and changes no call."""

    def __init__(
        self,
        confirmations: ConfirmationService,
        admission: Admission,
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
        self._db = db
        self._redactor = redactor
        self._times = times
        self._suspension = suspension
        self._declines = Declines()
        self._try: Trial | None = None

    def bind(self, trial: Trial) -> None:
        """How arguments that a person edited pass the policy and the hooks again."""
        self._try = trial

    def refused_at_once(self, call: CallState) -> Refusal | None:
        """Return why a call that asks is refused without a confirmation."""
        times = self._declines.times(call)
        if times >= STOP_AFTER:
            return Refusal("denied", "declined_repeatedly", REFUSED.format(times=times))
        if not self.is_unattended(call):
            return None
        return Refusal("denied", "unattended", UNATTENDED)

    def is_unattended(self, call: CallState) -> bool:
        """Return whether no client can answer, and waiting is disabled."""
        if call.context.attended:
            return False
        if call.context.caller == "cli":
            # It ends with its terminal: no one else can answer it.
            return True
        profile = self._admission.agent(call.context)
        return ((profile.unattended if profile else None) or self._unattended) == "deny"

    def keep(self, call: CallState) -> None:
        """Store what a restarted service needs to continue the call's batch."""
        context, batch = call.context, call.batch
        # A terminal call is not resumed: its terminal ends with the process.
        if batch is None or context.run_id is None or context.caller == "cli":
            return
        if not batch.is_kept:
            self._db.append(KEEP_BATCH, (kept_of(batch), context.run_id))
            batch.is_kept = True

    def released(self, call: CallState) -> Refusal | None:
        """Count the use of the grant that replaced a person's answer; refuse if none is left."""
        if call.asked is not None or call.decision is None or call.decision.grant_id is None:
            return None
        if self._grants.use(call.decision.grant_id):
            return None
        return Refusal(
            "cancelled",
            "approval_used",
            "The standing approval has no uses left; the call was not run. Call again to ask",
        )

    async def ask(self, call: CallState) -> CallConfirmation:
        """Open the confirmation of a call.

        Raises:
            RateLimited: too many questions are open in the session.
        """
        assert call.decision is not None
        context, again = call.context, call.asked_again
        profile = self._admission.agent(context)
        targets = await _targets(call, context)
        owner, risk = context.owner, str(call.decision.risk)
        policy = self._confirmations.policy_for(owner, call.tool_name, risk)
        question = confirmation_request(
            call,
            redactor=self._redactor,
            times=self._times,
            pattern=self._pattern(call),
            targets=targets,
            again=again,
            agent=profile.title or None if profile else None,
            terms=self._confirmations.terms_of(policy, context.user_id),
            expires_in_s=policy.expires_in_s if policy else None,
        )
        confirmation_id = self._confirmations.put(context.log, question, CallRequester(self, call))
        return CallConfirmation(confirmation_id, reasons_of(call), targets=targets)

    async def answer(self, asked: CallConfirmation) -> ConfirmationResolution:
        """The answer to a question that was put.

        Raises:
            StorageUnavailable: the question cannot be committed, so it is not put.
        """
        return await self._confirmations.wait(asked.id)

    async def settle(
        self, call: CallState, asked: CallConfirmation, answer: ConfirmationResolution
    ) -> ConfirmationResult:
        """Judge once more, right before the call runs, with what the person answered.

        Raises:
            InvalidArguments: the edited arguments do not fit any more.
        """
        if answer.outcome != "approved":
            found = call.standing
            found.refusal = self._unanswered(call, answer)
            return ConfirmationResult(found, asked)
        if answer.edited_args is not None and call.entry is not None:
            return await self._settle_edited(call, asked, answer.edited_args)
        found, again = self._admission.readmit(call), ""
        if found.refusal is None and reasons_of(found) <= asked.reasons:
            again, found = await self._hits_others(call, found, asked)
            if not again:
                return ConfirmationResult(found, asked)
        self._confirmations.void(asked.id)
        if found.refusal is not None:
            return ConfirmationResult(found, asked)
        return ConfirmationResult(found, None, again)

    async def _settle_edited(
        self, call: CallState, asked: CallConfirmation, arguments: dict[str, Any]
    ) -> ConfirmationResult:
        """Judge edited arguments as a whole: their author has seen only the reasons of the others.

        If they raise another reason, the call is asked about again as it would run now.
        """
        found = self._admission.readmit(call, arguments)
        hooks = asked.edits.get(dump_json(arguments))
        if hooks is None and self._try is not None and found.refusal is None:
            # Answered before a restart: what the hooks said then is not stored.
            trial = await self._try(call, arguments)
            found.refusal, hooks = trial.refusal, _own_reasons(trial)
        if found.refusal is not None:
            self._confirmations.void(asked.id)
            return ConfirmationResult(found, asked, is_edited=True)
        reasons = hooks or ()
        if _is_no_worse(found, reasons, call, asked):
            # Who wrote them has seen no list of what they hit.
            asked = replace(asked, targets=await _targets(found, call.context))
            return ConfirmationResult(found, asked, is_edited=True, ask_reasons=reasons)
        self._confirmations.void(asked.id)
        return ConfirmationResult(found, None, EDITED, is_edited=True, ask_reasons=reasons)

    async def recheck(self, call: CallState) -> ConfirmationResult | None:
        """What to ask again where a call that had to wait for a place hits something else now.

        None where its approval stands, or where it has none.
        """
        asked = call.asked
        if asked is None:
            return None
        again, found = await self._hits_others(call, call.standing, asked)
        if not again:
            return None
        self._confirmations.void(asked.id)
        return ConfirmationResult(found, None, again)

    async def consume(self, asked: CallConfirmation, row: Row) -> Refusal | None:
        """Consume the approval and claim the call: together, and at most once."""
        try:
            claimed = await self._confirmations.consume(asked.id, row)
        except StorageUnavailable as error:
            return Refusal("error", error.code, f"Not run: {error.message}")
        if claimed:
            return None
        return Refusal(
            "cancelled", "approval_used", "The approval no longer exists; the call was not run"
        )

    def give_up(self, call: CallState) -> None:
        """Withdraw the confirmation of a call that will not run."""
        if call.asked is not None:
            self._confirmations.give_up(call.asked.id)

    def over(self, batch: ToolCallBatch) -> None:
        """Delete what was stored for a restart."""
        self._db.append(KEEP_BATCH, (None, batch.calls[0].context.run_id))

    def settled(self, call: CallState) -> None:
        """Void an unused approval when a call has ended otherwise."""
        if call.outcome is not None and not call.is_claimed:
            self.give_up(call)

    def leaves(self, call: CallState) -> bool:
        """Return whether a cancelled call is left unchanged for the next process."""
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
        is_reported: bool,
    ) -> None:
        """Make a call wait again for a confirmation of a previous process."""
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
            is_reported=is_reported,
        )

    # -- for the confirmation ---------------------------------------------------------

    async def checked(self, call: CallState, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return edited arguments as they would run, after validation, policy and hooks.

        Raises:
            InvalidInput: they are invalid or denied; the whole answer is rejected.
        """
        assert self._try is not None
        if call.entry is None or call.prepared is None:
            raise InvalidInput("The tool has changed; decline the call", field="edited_args")
        original = call.prepared.raw
        shown = shown_arguments(original, self._redactor)
        wanted = restored_arguments(arguments, shown, original)
        if MASK in dump_json(wanted).decode():
            raise InvalidInput(
                f"edited_args contains {MASK}; replace it with the actual value",
                field="edited_args",
            )
        trial = await self._try(call, wanted)
        if trial.refusal is not None:
            raise InvalidInput(
                f"Invalid edited arguments: {trial.refusal.message}",
                field="edited_args",
                reason=trial.refusal.code,
            )
        assert trial.prepared is not None
        if call.asked is not None:
            call.asked.edits[dump_json(trial.prepared.raw)] = _own_reasons(trial)
        return trial.prepared.raw

    def released_by(self, call: CallState) -> str | None:
        """Return the grant that now answers the call's confirmation."""
        if call.prepared is None or _hook_asks(call):
            return None
        found = self._admission.readmit(call)
        if found.refusal is not None or found.decision is None or reasons_of(found):
            return None
        return found.decision.grant_id

    # -- internal ---------------------------------------------------------------------

    async def _hits_others(
        self, call: CallState, found: Judgement, asked: CallConfirmation
    ) -> tuple[str, Judgement]:
        """Describe how the targets differ from those shown; "" if they do not.

        An approval that was to last is taken back with the one that it came with: the call is
        judged again then.
        """
        grant_id = asked.answer.grant_id if asked.answer is not None else None
        if not _may_hit(found, asked) or _is_covered_elsewhere(found, asked.answer):
            return "", found
        changed = asked.targets.changed(await _targets(found, call.context))
        if changed and grant_id is not None:
            await self._grants.revoke(grant_id, by="system")
            found = replace(self._admission.readmit(call), refusal=None)
        return changed, found

    def _pattern(self, call: CallState) -> dict[str, Any] | None:
        """Return what a standing approval would cover; None if none may be offered.

        No grant answers a hook's question. Masked arguments cannot be shown completely, so they
        cannot be approved for later calls.
        """
        assert call.prepared is not None
        if _hook_asks(call) or self._redactor.arguments(call.prepared.raw)[1]:
            return None
        return self._admission.pattern(call)

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


async def _targets(found: CallState | Judgement, context: CallContext) -> Targets:
    """What the call would hit now."""
    if found.decision is None or not found.decision.resolved_targets:
        return Targets()
    return await targets_of(found.decision.resolved_targets, context.project)


def _is_no_worse(
    found: Judgement, hooks: tuple[str, ...], call: CallState, asked: CallConfirmation
) -> bool:
    """Return whether edited arguments raise no reason and no risk that was not shown."""
    if not (reasons_of(found) <= asked.reasons and set(hooks) <= set(call.ask_reasons)):
        return False
    if found.decision is None or call.decision is None:
        return True
    return _RISKS.index(found.decision.risk) <= _RISKS.index(call.decision.risk)


def _may_hit(found: Judgement, asked: CallConfirmation) -> bool:
    """Return whether the call has listed targets."""
    return bool(asked.targets.digest and found.decision and found.decision.resolved_targets)


def _is_covered_elsewhere(found: Judgement, answer: ConfirmationResolution | None) -> bool:
    """Return whether a standing approval from another confirmation covers the call."""
    if answer is not None and answer.is_released:
        return True
    decision = found.decision
    granted = decision is not None and decision.grant_id is not None
    return granted and (answer is None or answer.grant_id is None)


def _hook_asks(call: CallState) -> bool:
    """Return whether a hook asks for a reason other than a policy finding."""
    return bool(_own_reasons(call))


def _own_reasons(call: CallState) -> tuple[str, ...]:
    """Return the reasons of hooks to ask, other than the finding that policy itself reports."""
    reason = call.decision.reason if call.decision else ""
    return tuple(asked for asked in call.ask_reasons if asked != reason)
