"""Continuation of a batch left by a previous process.

Ended calls keep their outcome. A call that had started and was not waiting for a person may have
taken effect: it is recorded as interrupted and never run again. Calls that waited for a
confirmation wait again; calls that waited for an answer start again and find their open request.
Calls that were not admitted are new.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import orjson

from app.core.errors import InvalidArguments
from app.events.durable import CallStatus, ConfirmationOutcome
from app.execution.admission import Admission
from app.execution.batches import RecordedCall, StoredConfirmation, SuspendedBatch
from app.execution.call import CallConfirmation, CallState, ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.options import option_from_dict
from app.execution.confirmation.pending_confirmations import ConfirmationRequest
from app.execution.confirmation.request import digest_of, tool_version
from app.execution.confirmation.step import ConfirmationStep
from app.execution.confirmation.targets import kept_targets
from app.execution.context import CallContext
from app.execution.interactions.pending_inputs import PendingInputs
from app.execution.outcome import CallOutcome
from app.execution.outcome_builder import OutcomeBuilder
from app.execution.record import Recorder
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms
from app.toolkit.result import ToolResult


class BatchRecovery:
    """Rebuilds the calls of a suspended batch."""

    def __init__(
        self,
        admission: Admission,
        confirmation_step: ConfirmationStep,
        recorder: Recorder,
        outcome_builder: OutcomeBuilder,
        waiting: PendingInputs,
    ) -> None:
        self._admission = admission
        self._confirmation_step = confirmation_step
        self._recorder = recorder
        self._outcome_builder = outcome_builder
        self._waiting = waiting

    def rebuild(self, suspended: SuspendedBatch, context: CallContext) -> ToolCallBatch:
        """Return the batch, ready for the executor; open questions can be answered from now on."""
        calls = [
            self._call(suspended, request, operation_id, index, context)
            for index, (request, operation_id) in enumerate(suspended.requests)
        ]
        return ToolCallBatch(calls, suspended.max_workers, is_kept=True)

    def _call(
        self,
        suspended: SuspendedBatch,
        request: CallRequest,
        operation_id: str,
        index: int,
        context: CallContext,
    ) -> CallState:
        call = self._admission.take_up(request, index, context, operation_id=operation_id)
        row = suspended.rows.get(operation_id)
        note = suspended.notes.get(operation_id, "")
        if row is not None and row.status != "started":
            return replace(call, outcome=outcome_of(row, request, operation_id).noted(note))
        started_at = suspended.started.get(operation_id)
        if started_at is None:
            return call
        call = replace(call, is_started=True, started_at=started_at)
        confirmation = suspended.confirmations.get(operation_id)
        awaited = suspended.awaited.get(operation_id)
        if row is None and confirmation is not None:
            is_reported = confirmation.id in suspended.reported
            return self._wait_again(call, confirmation, is_reported=is_reported)
        shown = self._recorder.stored_arguments(call)
        if awaited is not None and confirmation is None:
            # The call only asked, so it may start again and finds its request.
            call = replace(call, is_claimed=row is not None, arguments_json=shown)
            self._waiting.expect(awaited.kind, awaited.id, call, awaited.request)
            return call
        call = replace(call, is_claimed=True, arguments_json=shown)
        end = self._outcome_builder.interrupted(call, note)
        self._recorder.completed(call, end)
        return replace(call, outcome=end.outcome)

    def _wait_again(
        self, call: CallState, stored: StoredConfirmation, *, is_reported: bool
    ) -> CallState:
        """The call where it was: in front of its question."""
        kept = orjson.loads(stored.call)
        call = self._with_arguments(call, kept, stored.digest)
        targets = kept_targets(kept.get("targets"))
        call = replace(
            call,
            refusal=None,
            arguments_json=self._recorder.stored_arguments(call),
            ask_reasons=kept.get("ask_reasons", ()),
            asked=CallConfirmation(stored.id, frozenset(kept.get("reasons", ())), targets=targets),
        )
        request = orjson.loads(stored.request)
        context = call.context
        offers = [
            option_from_dict(
                reported,
                run_id=context.run_id,
                session_id=context.session_id,
                agent_id=context.agent_id,
            )
            for reported in request["options"]
        ]
        question = ConfirmationRequest(
            ids=call.head(),
            tool_name=stored.tool_name,
            digest=stored.digest,
            fields=request,
            options={offer.option_id: offer for offer in offers},
            pattern=kept.get("pattern"),
            call=kept,
            case=ApprovalCase(context.owner, ApprovalTerms.from_dict(request.get("approval"))),
        )
        self._confirmation_step.restore(
            call,
            stored.id,
            question,
            request,
            stored.expires_at,
            answer=_answer_of(stored),
            is_reported=is_reported,
        )
        return call

    def _with_arguments(self, call: CallState, kept: dict[str, Any], digest: str) -> CallState:
        """The call with exactly the arguments that were asked about.

        One that cannot run, when something that the digest binds is another one now: the tool,
        or the folder of the project.
        """
        if not kept or call.tool is None:
            return call
        version = tool_version(call.tool)
        if version != kept["version"]:
            return replace(call, entry=None)
        try:
            found = self._admission.with_arguments(call, kept["arguments"])
        except InvalidArguments:
            return replace(call, entry=None)
        call = call.judged(found)
        listed = kept_targets(kept.get("targets")).digest
        return call if digest_of(call, version, listed) == digest else replace(call, entry=None)


def outcome_of(row: RecordedCall, request: CallRequest, operation_id: str) -> CallOutcome:
    """Return the outcome of a call from its row."""
    stored = orjson.loads(row.result) if row.result else {}
    result = ToolResult(
        success=bool(stored.get("success")),
        data=stored.get("data"),
        error=stored.get("error"),
        text=row.text,
        code=None if stored.get("success") else cast("CallStatus", row.status),
    )
    return CallOutcome(
        request=request,
        operation_id=operation_id,
        tool_name=row.tool_name,
        status=cast("CallStatus", row.status),
        result=result,
        text=row.text or "",
        execution_time=row.execution_time,
        cached=bool(row.cached),
        duplicate_of=row.duplicate_of,
        artifact_id=row.artifact_id,
    )


def _answer_of(stored: StoredConfirmation) -> ConfirmationResolution | None:
    if stored.status == "pending":
        return None
    return ConfirmationResolution(
        cast("ConfirmationOutcome", stored.status),
        stored.option_id,
        stored.answered_by,
        stored.message,
        orjson.loads(stored.edited_args) if stored.edited_args else None,
    )
