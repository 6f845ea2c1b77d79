"""Steps 1 to 3 of a call's way, all synchronous: look up, decide, validate."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from app.catalog.catalog import Catalog, CatalogEntry
from app.core.contain import Contained
from app.core.errors import InvalidArguments, ProjectRequired
from app.core.ids import call_id, new_id
from app.core.text import clean, truncate
from app.execution.arguments import Prepared, prepare, validate
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.execution.pipeline import Call, Refusal
from app.policy.decision import Decision, decide
from app.policy.risk.model import Verdict
from app.policy.self_protection import SelfProtection
from app.resolver.resolver import ResolvedToolset, Resolver

log = logging.getLogger(__name__)


class Admission:
    """Turns requests into calls that may go on, or into calls with a refusal."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        resolver: Resolver,
        protection: SelfProtection | None = None,
    ) -> None:
        self._catalog = catalog
        self._protection = protection
        self._resolver = resolver

    def take_up(self, request: CallRequest, index: int, context: CallContext) -> Call:
        """Look the tool up, check that it is on, validate, decide."""
        entry = self._catalog().lookup(request.name)
        operation_id = call_id("op")
        head: dict[str, Any] = {}
        if context.run_id:
            head["run_id"] = context.run_id
        if context.agent_id:
            head["agent_id"] = context.agent_id
        head["tool_call_id"] = request.id
        head["operation_id"] = operation_id
        name = entry.tool.name if entry else clean(truncate(request.name, 128))
        call = Call(request, index, operation_id, context, name, head, entry)
        with Contained() as held:
            call.refusal = self._refusal(call)
        if held.error is not None:
            error_id = new_id("err")
            log.error("%s could not be judged (%s)", name, error_id, exc_info=held.error)
            call.refusal = Refusal("error", "internal", f"Not run: internal error {error_id}")
        return call

    def readmit(self, call: Call) -> Refusal | None:
        """Check again, after a wait, that the tool is still there and still on."""
        entry = self._catalog().lookup(call.request.name)
        if entry is None or call.entry is None or entry.tool is not call.entry.tool:
            message = f"The tool {call.tool_name!r} changed while the call waited"
            return Refusal("disabled", "tool_changed", message)
        return self._disabled(entry)

    def replace_arguments(self, call: Call, arguments: dict[str, Any]) -> Decision:
        """Give a call other arguments: validated and judged anew.

        Raises:
            InvalidArguments: they do not fit.
        """
        assert call.entry is not None
        call.prepared = validate(call.entry, arguments)
        resolved = self._resolver.resolve()
        call.decision = self._judge(call.entry, call.prepared, call.context, resolved)
        return call.decision

    def _refusal(self, call: Call) -> Refusal | None:
        entry = call.entry
        if entry is None:
            return self._unknown(call.request.name)
        resolved = self._resolver.resolve()
        reason = resolved.disabled_reasons.get(entry.tool.name)
        if reason is not None:
            return Refusal("disabled", reason.code, reason.message)
        if entry.tool.needs_project and call.context.project is None:
            missing = ProjectRequired()
            return Refusal("error", missing.code, missing.message)
        try:
            call.prepared = prepare(entry, call.request.arguments)
        except InvalidArguments as error:
            return Refusal("invalid_arguments", error.code, error.message, error.details)
        call.decision = self._judge(entry, call.prepared, call.context, resolved)
        return denial(call.decision)

    def _judge(
        self,
        entry: CatalogEntry,
        prepared: Prepared,
        context: CallContext,
        resolved: ResolvedToolset,
    ) -> Decision:
        return decide(
            entry.tool,
            prepared.validated,
            requires_confirmation=entry.tool.name in resolved.confirmation,
            cwd=context.project.root if context.project else "/",
            protection=self._protection,
        )

    def _disabled(self, entry: CatalogEntry) -> Refusal | None:
        reason = self._resolver.resolve().disabled_reasons.get(entry.tool.name)
        return Refusal("disabled", reason.code, reason.message) if reason else None

    def _unknown(self, name: str) -> Refusal:
        enabled = self._resolver.resolve().tool_names
        guesses = self._catalog().suggest(name, among=enabled)
        message = f"Tool not found: {truncate(name, 128)}"
        if guesses:
            message += f". Did you mean {' or '.join(guesses)}?"
        return Refusal("error", "tool_not_found", message, {"suggestions": guesses})


def denial(decision: Decision) -> Refusal | None:
    """The refusal of a decision that says deny."""
    if decision.verdict is not Verdict.DENY:
        return None
    code = decision.rule_ids[0] if decision.rule_ids else "denied"
    return Refusal("denied", code, f"Denied by policy: {decision.reason}")
