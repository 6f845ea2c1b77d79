"""Steps 1 to 3 of a call, all synchronous: look up, decide, validate."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.catalog.catalog import CatalogEntry
from app.catalog.registry import ToolRegistry
from app.core.clock import Clock
from app.core.error_boundary import try_call
from app.core.errors import InvalidArguments, ProjectRequired
from app.core.host_rules import HostRules
from app.core.ids import call_id, new_id
from app.core.redaction import Redactor
from app.core.text import clean, truncate
from app.events.encode import call_part, run_part
from app.execution.arguments import PreparedArguments, prepare, validate
from app.execution.call import CallState, Judgement, Refusal, call_key, command_key
from app.execution.calls import CallRequest
from app.execution.context import CallContext, Project
from app.execution.created_files import CreatedFiles
from app.execution.provenance.written_files import WrittenFiles
from app.governance.agents import AgentProfile, SubagentScope
from app.governance.approvals.policies import ApprovalPolicyStore
from app.policy.decision import ALLOW, Decision
from app.policy.evaluator import decide, is_plain, written_files
from app.policy.facts import CallFacts, never
from app.policy.grants import NO_GRANTS, pattern_for
from app.policy.risk.model import FileRun, Given, Verdict
from app.policy.self_protection import SelfProtection
from app.resolver.policy_sets import GrantSetCache, RuleSetCache
from app.resolver.resolver import ResolvedToolset, Resolver
from app.toolkit.services import Services

log = logging.getLogger(__name__)

_MAX_NAME, _MAX_READ = 128, 1024

# Session and project → folder in which the session's shell was left; None for its start folder.
KeptCwd = Callable[[str, str | None], str | None]


@dataclass(frozen=True, slots=True)
class PolicyInputs:
    """What calls are judged by, beside their arguments: as it stands at each moment.

    Attributes:
        on_rules: takes the ids of the rules that had a say in a call that is made.
        approvals: policies that may require approvals of each call.
    """

    rules: RuleSetCache
    grants: GrantSetCache
    protection: SelfProtection
    clock: Clock
    on_rules: Callable[[Sequence[str]], None]
    approvals: ApprovalPolicyStore


class Admission:
    """Turns requests into calls that may continue, or into refused calls."""

    def __init__(
        self,
        registry: ToolRegistry,
        resolver: Resolver,
        policy: PolicyInputs,
        redactor: Redactor,
        services: Services,
        *,
        kept_cwd: KeptCwd,
        created: CreatedFiles,
        written: WrittenFiles,
    ) -> None:
        self._registry = registry
        self._resolver = resolver
        self._policy = policy
        self._redactor = redactor
        self._services = services
        self._kept_cwd = kept_cwd
        self._created = created
        self._written = written
        # Encoded IDs of the last batch: calls of a batch are admitted one after another.
        self._context: CallContext | None = None
        self._ids = ""

    def take_up(
        self,
        request: CallRequest,
        index: int,
        context: CallContext,
        *,
        operation_id: str | None = None,
        is_real: bool = True,
    ) -> CallState:
        """Look up the tool, check that it is enabled, validate and decide.

        Args:
            is_real: the call may run, so matching rules are counted.
        """
        entry = self._registry.snapshot().lookup(request.name)
        operation_id = operation_id or call_id("op")
        if context is not self._context:
            self._context, self._ids = context, run_part(context.run_id, context.agent_id)
        ids = call_part(self._ids, request.id, operation_id, context.parent_tool_call_id)
        # The name of an unknown tool is arbitrary text.
        name = entry.tool.name if entry else self._shown(request.name)
        found = Judgement()
        _, error = try_call(self._assess, found, entry, request, context, name)
        decision = found.decision
        if is_real and decision is not None and decision.spoke:
            self._policy.on_rules(decision.spoke)
        if error is not None:
            error_id = new_id("err")
            log.error("%s could not be evaluated (%s)", name, error_id, exc_info=error)
            found.refusal = Refusal("error", "internal", f"Not run: internal error {error_id}")
        return CallState(
            request,
            index,
            operation_id,
            context,
            name,
            ids,
            entry,
            entry.tool if entry else None,
            found.prepared,
            decision,
            found.refusal,
            setting=found.setting,
            kept_cwd=found.kept_cwd,
            writes=found.writes,
        )

    def readmit(self, call: CallState, arguments: dict[str, Any] | None = None) -> Judgement:
        """Check again, after a wait: the tool, its switch, and the verdict of this moment.

        Args:
            arguments: what it is to run with from now on, where that is something else.

        Raises:
            InvalidArguments: they do not fit.
        """
        found = call.standing
        if arguments is not None and call.entry is not None:
            found.prepared = validate(call.entry, arguments)
        entry = self._registry.snapshot().lookup(call.request.name)
        if entry is None or call.entry is None or entry.tool is not call.entry.tool:
            message = f"{call.tool_name!r}, or its working directory, changed while the call waited"
            found.refusal = Refusal("disabled", "tool_changed", message)
            return found
        resolved = self._resolved(call.context)
        reason = resolved.disabled_reasons.get(entry.tool.name)
        if reason is not None:
            found.refusal = Refusal("disabled", reason.code, reason.message)
            return found
        self._judge(found, entry, call.context, resolved, was_asked=call.asked is not None)
        return found

    def pattern(self, call: CallState) -> dict[str, Any] | None:
        """Return what a standing approval of the call would cover; None if none may be offered."""
        assert call.entry is not None
        assert call.decision is not None
        resolved = self._resolved(call.context)
        facts = self._facts(call.standing, call.entry, call.context, resolved)
        return pattern_for(facts, call.decision)

    def facts(self, call: CallState) -> CallFacts | None:
        """Return what policy knows about the call; None if it was refused before policy."""
        if call.entry is None or call.prepared is None:
            return None
        return self._facts(call.standing, call.entry, call.context, self._resolved(call.context))

    def agent(self, context: CallContext) -> AgentProfile | None:
        """Return the agent profile that applies to the call."""
        return self._resolved(context).agent

    def with_arguments(self, call: CallState, arguments: dict[str, Any]) -> Judgement:
        """The call as it would be judged with other arguments.

        Raises:
            InvalidArguments: they are invalid.
        """
        assert call.entry is not None
        found = call.standing
        found.prepared = validate(call.entry, arguments)
        resolved = self._resolved(call.context)
        self._judge(found, call.entry, call.context, resolved, was_asked=call.asked is not None)
        return found

    def _assess(
        self,
        found: Judgement,
        entry: CatalogEntry | None,
        request: CallRequest,
        context: CallContext,
        name: str,
    ) -> None:
        """Fill in a first judgement, as far as it comes."""
        if entry is None:
            found.refusal = self._unknown(request, context, name)
            return
        resolved = self._resolved(context)
        reason = resolved.disabled_reasons.get(name)
        if reason is not None:
            found.refusal = Refusal("disabled", reason.code, reason.message)
            return
        found.setting = resolved.states[name]
        project = context.project
        if entry.tool.needs_project and project is None:
            missing = ProjectRequired()
            found.refusal = Refusal("error", missing.code, missing.message)
            return
        try:
            found.prepared = prepare(
                entry, request.arguments, project_id=project.id if project else None
            )
        except InvalidArguments as error:
            found.refusal = Refusal("invalid_arguments", error.code, error.message, error.details)
            return
        self._judge(found, entry, context, resolved, was_asked=False)

    def _judge(
        self,
        found: Judgement,
        entry: CatalogEntry,
        context: CallContext,
        resolved: ResolvedToolset,
        *,
        was_asked: bool,
    ) -> None:
        """Fill in what policy says about prepared arguments."""
        policy, tool = self._policy, entry.tool
        rules = policy.rules.current()
        if is_plain(tool, rules, asks=tool.name in resolved.confirmation):
            found.decision = ALLOW
            return
        if tool.shell is not None:
            found.kept_cwd = self._start_of(found, context, was_asked=was_asked)
        facts = self._facts(found, entry, context, resolved)
        found.writes = written_files(facts)
        evaluate = partial(
            decide, facts, rules=rules, now=policy.clock.time(), protection=policy.protection
        )
        decision = evaluate(grants=policy.grants.current())
        if decision.grant_id is not None and self._requires_each(context, tool.name, decision):
            decision = evaluate(grants=NO_GRANTS)
        found.decision = decision
        found.refusal = denial(decision)

    def _requires_each(self, context: CallContext, tool_name: str, decision: Decision) -> bool:
        """Return whether an approval policy lets no earlier approval of one person stand in."""
        policies = self._policy.approvals
        if not policies.has_strict or context.owner is None:
            return False
        policy = policies.covering(context.owner, tool_name, str(decision.risk))
        return policy is not None and policy.is_strict

    def _start_of(self, found: Judgement, context: CallContext, *, was_asked: bool) -> str | None:
        """Where the shell was left, when the call says that it continues there.

        In a narrowed workspace a shell starts in the first of its folders, not in its root.
        """
        assert found.prepared is not None
        args, project = found.prepared.validated, context.project
        if project is None or getattr(args, "working_dir", None):
            return None
        start = project.start if project.roots else None
        if getattr(args, "keep_state", False) is not True:
            return start
        if was_asked:
            # The approver has seen the folder: the call stays in it from then on.
            return found.kept_cwd
        return self._kept_cwd(context.shell_id, project.id) or start

    def _facts(
        self,
        found: Judgement,
        entry: CatalogEntry,
        context: CallContext,
        resolved: ResolvedToolset,
    ) -> CallFacts:
        tool, prepared, project = entry.tool, found.prepared, context.project
        assert prepared is not None
        asks, asks_by = tool.name in resolved.confirmation, resolved.states[tool.name].asks_by
        why = None if tool.asks is None else tool.asks(prepared.validated, self._services)
        if why is not None and tool.shell is None and not asks:
            asks, asks_by = True, "tool"
        return CallFacts(
            tool,
            prepared.validated,
            prepared.raw,
            cwd=project.root if project else "/",
            kept_cwd=found.kept_cwd,
            agent_id=context.agent_id,
            project_id=project.id if project else None,
            session_id=context.session_id,
            run_id=context.run_id,
            user_id=context.user_id,
            asks=asks,
            asks_by=asks_by,
            why_asks=why,
            secret_in=self._redactor.secret_in(prepared.raw) if tool.sends else None,
            is_released=project.releases if project else never,
            project_hosts=project.allowed_hosts if project else HostRules(),
            is_there=os.path.isfile,
            is_own=partial(self._created.holds, context.session_id or ""),
            written=partial(self._content, entry, prepared, project, found.kept_cwd),
        )

    def _content(
        self,
        entry: CatalogEntry,
        prepared: PreparedArguments,
        project: Project | None,
        kept_cwd: str | None,
        runs: Sequence[FileRun],
    ) -> tuple[Given, ...]:
        """Return the files among `runs` that a session of the workspace wrote."""
        if project is None:
            return ()
        key = call_key(entry, entry.tool.name, prepared, project)
        command = command_key(key, kept_cwd or project.root)
        return self._written.content(project.root, command, runs)

    def _resolved(self, context: CallContext) -> ResolvedToolset:
        if context.subagent is not None:
            scope: SubagentScope | None = context.subagent.scope
        else:  # An unknown caller that names itself is treated as a sub-agent.
            scope = SubagentScope() if context.caller == "subagent" else None
        return self._resolver.resolve(context.agent_id, subagent=scope)

    def _shown(self, name: str) -> str:
        # Masked before truncation: half a secret is no longer recognized.
        return truncate(self._redactor.text(clean(truncate(name, _MAX_READ))), _MAX_NAME)

    def _unknown(self, request: CallRequest, context: CallContext, name: str) -> Refusal:
        enabled = self._resolved(context).tool_names
        guesses = self._registry.snapshot().suggest(request.name, among=enabled)
        message = f"Tool not found: {name}"
        if guesses:
            message += f". Did you mean {' or '.join(guesses)}?"
        return Refusal("error", "tool_not_found", message, {"suggestions": guesses})


def denial(decision: Decision) -> Refusal | None:
    """Return the refusal of a denied call."""
    if decision.verdict is not Verdict.DENY:
        return None
    code = decision.rule_ids[0] if decision.rule_ids else "denied"
    return Refusal("denied", code, f"Denied by policy: {decision.reason}")
