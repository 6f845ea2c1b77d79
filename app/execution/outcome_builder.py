"""What a call came to, as a value: cap what the model gets, spill the rest, warn of loops."""

from __future__ import annotations

import logging
from dataclasses import replace

from app.core.error_boundary import try_call
from app.core.errors import StorageUnavailable
from app.core.ids import new_id
from app.core.machine_limits import overload_of
from app.core.redaction import Redactor
from app.core.text import clean, dump_json
from app.events.durable import CallStatus
from app.execution.artifacts import Artifact, ArtifactStore
from app.execution.call import CallState, Refusal
from app.execution.loops import LoopGuard
from app.execution.outcome import CallEnd, CallOutcome
from app.execution.rule_hint import RuleHint
from app.execution.runner import ToolExecution
from app.toolkit.result import ToolResult

log = logging.getLogger(__name__)

INTERRUPTED = "The service stopped during this call; whether it took effect is unknown"
SHARED = (
    "Note: this call is identical to an earlier one of the same turn. It ran once, "
    "and both share the result; to run it again, call it in a later turn."
)
# Reserve for text around a result that was already truncated.
_NOTES = 2_000


class OutcomeBuilder:
    """Builds outcomes; the executor records them."""

    def __init__(
        self,
        *,
        loops: LoopGuard,
        artifacts: ArtifactStore,
        redactor: Redactor,
        output_chars: int,
        turn_chars: int,
        rule_hint: RuleHint,
    ) -> None:
        self._loops = loops
        self._artifacts = artifacts
        self._redactor = redactor
        self._output_chars = output_chars
        self._turn_chars = turn_chars
        self._rule_hint = rule_hint

    async def ran(self, call: CallState, ran: ToolExecution) -> CallEnd:
        """Return the outcome of a call that ran, successful or not."""
        result, text, data = self._rendered(ran.result)
        shown, artifact_id, truncated = text, None, False
        limit = self._limit(call, text)
        if ran.live is not None or len(text) > limit:
            shown, artifact_id, truncated = await self._capped(call, text, limit, ran)
        warning = self._note(call, text)
        if warning:
            shown = f"{shown}\n\n{warning}"
        if call.note:
            shown = f"{call.note}\n\n{shown}"
        reshaped = _reshaped(call, result, replaced=ran.is_replaced)
        outcome = CallOutcome(
            request=call.request,
            operation_id=call.operation_id,
            tool_name=call.tool_name,
            status=ran.status,
            result=reshaped,
            text=shown,
            execution_time=ran.seconds,
            artifact_id=artifact_id,
            truncated=truncated,
        )
        encoded = data if reshaped is result else None
        if (live := ran.live) is not None:
            return CallEnd(outcome, chunks=live.chunks, size=live.size, data=encoded)
        return CallEnd(outcome, size=0 if shown is text else len(text.encode()), data=encoded)

    def refused(self, call: CallState, refusal: Refusal) -> CallEnd:
        """A call that did not run."""
        message = self._redactor.text(refusal.message)
        details = self._redactor.secrets_in(refusal.details)
        result = ToolResult.fail(message, code=refusal.code, data=details)
        hint = self._rule_hint.of(call, refusal)
        outcome = CallOutcome(
            request=call.request,
            operation_id=call.operation_id,
            tool_name=call.tool_name,
            status=refusal.status,
            result=result,
            text=f"{message}\n{hint}" if hint else message,
        )
        return CallEnd(outcome, refusal.code)

    async def repeated(self, call: CallState, kept: CallOutcome) -> CallEnd:
        """Return the outcome of a read answered from the session's cache."""
        warning = self._note(call, kept.text)
        kept = await self._fitting(call, kept)
        text = f"{kept.text}\n\n{warning}" if warning else kept.text
        outcome = replace(
            kept,
            request=call.request,
            operation_id=call.operation_id,
            text=text,
            cached=True,
            execution_time=0.0,
        )
        return CallEnd(outcome, "cached")

    async def skipped(
        self, call: CallState, duplicate_of: CallState, first: CallOutcome
    ) -> CallEnd:
        """Return the outcome of a call equal to an earlier one of its batch: the same result, run
        once.
        """
        first = await self._fitting(call, first)
        outcome = replace(
            first,
            request=call.request,
            operation_id=call.operation_id,
            status="skipped",
            text=f"{first.text}\n\n{SHARED}".strip(),
            duplicate_of=duplicate_of.request.id,
            execution_time=0.0,
        )
        return CallEnd(outcome, "duplicate")

    def cancelled(self, call: CallState) -> CallEnd:
        """A call that was stopped."""
        partial = call.partial
        output = partial.output
        message = "The call was cancelled"
        text = f"{message}. Output so far:\n{output}" if output else message
        result = ToolResult.fail(
            message, code="cancelled", data={"output": output} if output else None
        )
        outcome = CallOutcome(
            request=call.request,
            operation_id=call.operation_id,
            tool_name=call.tool_name,
            status="cancelled",
            result=result,
            text=text[: self._output_chars],
            execution_time=partial.seconds,
        )
        return CallEnd(outcome, chunks=partial.chunks, size=partial.size)

    def interrupted(self, call: CallState, note: str = "") -> CallEnd:
        """Return the outcome of a call interrupted by the end of its process, with `note`."""
        message = f"{INTERRUPTED}. {note}" if note else INTERRUPTED
        return self._ended(call, "interrupted", "interrupted", message)

    def broken(self, call: CallState, error: BaseException | None) -> CallEnd:
        """Return the outcome of a call that failed in our code, or in a plugin's adapter."""
        overload = overload_of(error) if error is not None else None
        if overload is not None:
            log.warning("call of %s: %s", call.tool_name, overload.message)
            return self._ended(call, "error", overload.code, overload.message)
        error_id = new_id("err")
        log.error("call of %s failed (%s)", call.tool_name, error_id, exc_info=error)
        message = f"Internal error {error_id}; see the service's log"
        return self._ended(call, "error", "internal", message)

    def _ended(self, call: CallState, status: CallStatus, code: str, message: str) -> CallEnd:
        """An end of which nothing but a sentence is known."""
        outcome = CallOutcome(
            request=call.request,
            operation_id=call.operation_id,
            tool_name=call.tool_name,
            status=status,
            result=ToolResult.fail(message, code=code),
            text=message,
        )
        return CallEnd(outcome)

    def _note(self, call: CallState, text: str) -> str | None:
        """Count the call; return a warning if an agent repeats itself."""
        assert call.tool is not None
        if not call.context.is_agents:
            return None
        return self._loops.note(
            call.context.session_id, call.key, text, wrote=call.tool.has_side_effects
        )

    def _rendered(self, result: ToolResult) -> tuple[ToolResult, str, bytes | None]:
        """Return the redacted result, the model's text, and its data if encoded."""
        bare = result.success and result.text is None and result.raw_result is None
        if bare and result.error is None and not isinstance(result.data, str):
            # The scanned text is also the text sent: encoded once.
            encoded = dump_json(result.data)
            if self._redactor.is_text_clean(encoded):
                return result, encoded.decode(), encoded
        result = self._redacted(result)
        return result, clean(result.for_model()), None

    def _redacted(self, result: ToolResult) -> ToolResult:
        """Mask secrets in a result from any source. Most results have none and are returned
        unchanged.
        """
        faces = [result.data, result.text, result.error]
        if result.raw_result is not None:
            faces.append(result.raw_result.data)
        if self._redactor.is_text_clean(dump_json(faces)):
            return result
        raw = result.raw_result
        return replace(
            result,
            data=self._redactor.secrets_in(result.data),
            text=None if result.text is None else self._redactor.text(result.text),
            error=None if result.error is None else self._redactor.text(result.error),
            raw_result=None
            if raw is None
            else replace(raw, data=self._redactor.secrets_in(raw.data)),
        )

    def _limit(self, call: CallState, text: str) -> int:
        """Return the size limit of a result: for this call, and for all calls of the turn."""
        limit = call.setting.max_output_chars or self._output_chars
        if call.batch is None or not call.context.is_agents:
            return limit
        return call.batch.allot(len(text), limit=limit, budget=self._turn_chars)

    async def _fitting(self, call: CallState, reported: CallOutcome) -> CallOutcome:
        """Return a repeated result, truncated to what remains of the turn."""
        limit = self._limit(call, reported.text)
        if not call.context.is_agents or len(reported.text) <= limit + _NOTES:
            return reported
        text, artifact_id, _ = await self._capped(call, reported.text, limit, None)
        return replace(reported, text=text, artifact_id=artifact_id, truncated=True)

    async def _capped(
        self, call: CallState, text: str, limit: int, ran: ToolExecution | None
    ) -> tuple[str, str | None, bool]:
        """Return the text for the model, the artifact of the full text, and whether it was
        truncated.
        """
        printed = ran.live.size if ran is not None and ran.live and ran.spool else 0
        if len(text) <= limit and printed <= len(text) + limit // 4:
            return text, None, False
        name = f"{call.tool_name}-{call.operation_id}.txt"
        try:
            kept = await self._spilled(call, name, text, ran if printed > len(text) else None)
        except StorageUnavailable as error:
            return _head_and_tail(text, limit, error.message), None, True
        note = f"{kept.size} bytes in total; continue with read_file path=artifact:{kept.id}"
        return _head_and_tail(text, limit, note), kept.id, True

    async def _spilled(
        self, call: CallState, name: str, text: str, ran: ToolExecution | None
    ) -> Artifact:
        """Everything that the call printed as an artifact, or its text where that is more."""
        session_id, operation_id = call.context.session_id, call.operation_id
        if ran is not None and ran.live is not None and ran.spool is not None:
            await ran.live.spill()
            return await self._artifacts.adopt(
                ran.spool, session_id, name, "text/plain", operation_id=operation_id
            )
        data = text.encode("utf-8", "replace")
        return await self._artifacts.save(
            session_id, name, "text/plain", data, operation_id=operation_id
        )


def _reshaped(call: CallState, result: ToolResult, *, replaced: bool) -> ToolResult:
    """Return the result in the alias's format, if a hook's replacement allows it."""
    alias = call.entry.alias if call.entry else None
    if alias is None or alias.reshape is None:
        return result
    if not replaced:
        return alias.reshape(result)
    shaped, _ = try_call(alias.reshape, result)
    return result if shaped is None else shaped


def _head_and_tail(text: str, limit: int, note: str) -> str:
    """Return the beginning and end of `text`: errors tend to be at the end."""
    if len(text) <= limit:
        return f"{text}\n[Output truncated: {note}]"
    head, tail = limit * 2 // 3, limit // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters omitted: {note} …]\n{text[-tail:]}"
