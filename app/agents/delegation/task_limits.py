"""Resolution of requested task limits to allowed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from app.agents.delegation.model import Parent, SubagentTask, TaskBatch, TaskLimits
from app.catalog.registry import ToolRegistry
from app.config.settings import Settings
from app.core.errors import InvalidInput, NotFound, ToolFailed
from app.core.ids import new_id
from app.core.text import dump_json
from app.domain.delegation import BatchKind, TaskSpec
from app.execution.context import Project
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.governance.agents import AgentProfile, SubagentLimits, SubagentScope
from app.governance.identity.token_rules import DEFAULT_AGENT
from app.resolver.layers import NO_LIMITS_FOR_SUBAGENTS
from app.resolver.resolver import Resolver


def check_batch(specs: Sequence[TaskSpec], settings: Settings) -> None:
    """Check that labels are unique and dependencies have no cycle.

    Raises:
        InvalidInput: a check failed; names the field.
    """
    most = settings.sub_agent.max_tasks
    if not specs:
        raise InvalidInput("A batch requires at least one task", field="tasks")
    if len(specs) > most:
        raise InvalidInput(f"Maximum {most} concurrent agents allowed", field="tasks", limit=most)
    labels = [spec.label for spec in specs]
    for place, label in enumerate(labels):
        if label in labels[:place]:
            raise InvalidInput(
                f"Duplicate label {label!r}; give each task its own label",
                field=f"tasks[{place}].label",
            )
    for place, spec in enumerate(specs):
        for other in spec.after:
            if other not in labels:
                raise InvalidInput(
                    f"Task {spec.label!r} depends on {other!r}, which is not in this batch",
                    field=f"tasks[{place}].after",
                )
    _check_order(specs)


def _check_order(specs: Sequence[TaskSpec]) -> None:
    waiting = {spec.label: set(spec.after) for spec in specs}
    while ready := [label for label, after in waiting.items() if not after]:
        for label in ready:
            del waiting[label]
        for after in waiting.values():
            after.difference_update(ready)
    if waiting:
        raise InvalidInput(
            f"These tasks depend on each other in a cycle: {', '.join(sorted(waiting))}",
            field="tasks",
        )


def fingerprint_of(kind: BatchKind, name: str, specs: Sequence[TaskSpec], parent: Parent) -> str:
    """Return a fingerprint of a request by an agent, to recognize duplicates."""
    # Results of one sub-agent are not shared with its siblings, which may have fewer rights.
    run_id = parent.run_id if parent.depth else None
    asker = [
        parent.agent_id,
        parent.depth,
        run_id,
        parent.project_id,
        parent.quota_subject.token_id,
    ]
    asked = [kind, name, asker, dict(parent.model), [_fields(spec) for spec in specs]]
    return sha256(dump_json(asked)).hexdigest()


def _fields(spec: TaskSpec) -> list[object]:
    return [getattr(spec, name) for name in spec.__dataclass_fields__]


class TaskLimitResolver:
    """Applies the settings, the agent's limits and the parent's own limits to tasks."""

    def __init__(
        self,
        agents: AgentStore,
        resolver: Resolver,
        registry: ToolRegistry,
        projects: Projects,
        settings: Settings,
    ) -> None:
        self._agents = agents
        self._resolver = resolver
        self._registry = registry
        self._projects = projects
        self._settings = settings

    def depth_of(self, parent: Parent) -> int:
        """Return the nesting depth of a batch's tasks.

        Raises:
            ToolFailed: code `delegation_depth`.
        """
        most = self._max_depth(parent.agent_id, parent.max_depth)
        if parent.depth >= most:
            raise ToolFailed(
                "A sub-agent at this depth cannot start sub-agents; do the work "
                "yourself, or let the agent delegate it",
                code="delegation_depth",
                limit=most,
            )
        return parent.depth + 1

    def deepest(self) -> int:
        """Return the maximum depth that any agent's sub-agents may reach."""
        profiles = (stored.profile for stored in self._agents.list_all())
        own = (profile.subagents.max_depth or 1 for profile in profiles)
        limits = self._settings.sub_agent
        return min(max(limits.max_depth, 1, *own), limits.processes)

    def limits_of(self, spec: TaskSpec, parent: Parent, kind: BatchKind, field: str) -> TaskLimits:
        """Return a task's limits.

        Raises:
            InvalidInput: a tool, agent, model or folder is not available; names the field.
        """
        agent_id = self._agent(spec, parent, kind, field)
        profile = self._profile(agent_id)
        limits = self._settings.sub_agent
        above = self._limits(parent.agent_id)
        ours = _least(self._limits(agent_id).max_iterations, above.max_iterations)
        seeds = kind == "multi_agent"
        default = limits.max_iterations if seeds else limits.delegate_iterations
        rounds = spec.max_rounds or ours or default
        most_deep = self._max_depth(parent.agent_id, parent.max_depth)
        most_deep = self._max_depth(agent_id, most_deep)
        given = {**parent.model, **_own_of(profile if spec.agent_id else None)}
        return TaskLimits(
            agent_id=agent_id,
            model=self._model(spec, parent, profile, field),
            max_tokens=int(given.get("max_tokens") or self._settings.max_tokens),
            temperature=given.get("temperature", self._settings.temperature),
            max_rounds=min(rounds, ours or rounds, limits.iterations_max),
            timeout_s=min(spec.timeout_s or limits.task_timeout_s, limits.task_timeout_max_s),
            scope=self._scope(spec, parent, may_delegate=parent.depth + 1 < most_deep),
            roots=_roots(spec.workspace_roots, parent.roots, f"{field}.workspace_roots"),
            max_depth=most_deep,
            last_round_without_tools=spec.last_round_without_tools or seeds,
        )

    def task_of(self, batch: TaskBatch, place: int, spec: TaskSpec) -> SubagentTask:
        """Return a task with its limits.

        Raises:
            InvalidInput: see `limits_of`; or it could use none of its tools.
        """
        field = f"tasks[{place}]"
        parent = batch.parent
        limits = self.limits_of(spec, parent, batch.kind, field)
        self.project_of(parent, limits.roots)
        resolved = self._resolver.resolve(limits.agent_id, subagent=limits.scope)
        if spec.tools and not resolved.tool_names:
            why = {name: resolved.disabled_reasons.get(name) for name in limits.scope.allowed or ()}
            message = "; ".join(reason.message for reason in why.values() if reason is not None)
            raise InvalidInput(
                f"None of its tools would be available: {message}", field=f"{field}.tools"
            )
        return SubagentTask(
            id=new_id("tsk"),
            batch_id=batch.id,
            run_id=new_id("run"),
            position=place,
            spec=spec,
            limits=limits,
            routes=dict(resolved.routes),
            blocked={name: why.to_dict() for name, why in resolved.disabled_reasons.items()},
        )

    def project_of(self, parent: Parent, roots: tuple[str, ...]) -> Project | None:
        """Return the workspace as the sub-agent sees it.

        Raises:
            InvalidInput: a folder does not exist.
        """
        if parent.project_id is None:
            if roots:
                raise InvalidInput(
                    "workspace_roots requires a session with a project", field="workspace_roots"
                )
            return None
        if not roots:
            return self._projects.get(parent.project_id)
        return self._projects.narrowed(parent.project_id, roots)

    def _agent(self, spec: TaskSpec, parent: Parent, kind: BatchKind, field: str) -> str | None:
        """Return another agent's profile, only if the operator allows it."""
        wanted = spec.agent_id
        if wanted is None or wanted == parent.agent_id:
            return parent.agent_id
        profile = self._profile(parent.agent_id)
        named = profile.subagents.agents if profile else ()
        if kind == "escalation":
            supervisor = supervisor_of(self._agents, self._settings, parent.agent_id)
            named = (supervisor,) if supervisor else ()
        if wanted not in named:
            choice = f"it may use {', '.join(named)}" if named else "it may use no other"
            raise InvalidInput(
                f"This agent is not allowed to delegate to the agent {wanted!r}; {choice}",
                field=f"{field}.agent",
            )
        try:
            self._agents.require(wanted)
        except NotFound as error:
            raise InvalidInput(error.message, field=f"{field}.agent") from None
        return wanted

    def _model(
        self, spec: TaskSpec, parent: Parent, profile: AgentProfile | None, field: str
    ) -> str:
        """Return a configured model; the cost of others has not been agreed to."""
        callers = str(parent.model.get("model") or self._settings.model)
        own = profile.model if profile and spec.agent_id else None
        if spec.model is None:
            return own or callers
        known = dict.fromkeys(
            name
            for name in (callers, own, self._settings.model, *self._settings.model_prices)
            if name
        )
        if spec.model not in known:
            raise InvalidInput(
                f"The model {spec.model!r} is not configured; available are {', '.join(known)}",
                field=f"{field}.model",
            )
        return spec.model

    def _scope(self, spec: TaskSpec, parent: Parent, *, may_delegate: bool) -> SubagentScope:
        allowed = None
        if spec.tools is not None:
            allowed = frozenset(self._canonical(name) for name in spec.tools)
        # Also apply under another agent's profile, which the resolver looks up there.
        limits = self._limits(parent.agent_id)
        read_only, no_shell = spec.read_only or limits.read_only, spec.no_shell or limits.no_shell
        scope = SubagentScope(allowed, read_only, no_shell, may_delegate)
        above = parent.scope
        if above is None:
            return scope
        if above.allowed is not None:
            both = above.allowed if allowed is None else allowed & above.allowed
            scope = replace(scope, allowed=both)
        return replace(
            scope,
            read_only=scope.read_only or above.read_only,
            no_shell=scope.no_shell or above.no_shell,
        )

    def _canonical(self, name: str) -> str:
        catalog = self._registry.snapshot()
        entry = catalog.lookup(name)
        if entry is None:
            guesses = catalog.suggest(name, among=self._resolver.resolve().tool_names)
            hint = f"; did you mean {' or '.join(guesses)}?" if guesses else ""
            raise InvalidInput(f"Tool {name!r} does not exist{hint}", field="tools")
        return entry.tool.name

    def _profile(self, agent_id: str | None) -> AgentProfile | None:
        return _profile(self._agents, agent_id)

    def _limits(self, agent_id: str | None) -> SubagentLimits:
        profile = self._profile(agent_id)
        return profile.subagents if profile else NO_LIMITS_FOR_SUBAGENTS

    def _max_depth(self, agent_id: str | None, above: int | None) -> int:
        """Return the allowed depth: agents that wait for each other need one process per depth."""
        limits = self._settings.sub_agent
        own = self._limits(agent_id).max_depth or limits.max_depth
        return min(own, limits.processes, own if above is None else above)


def supervisor_of(agents: AgentStore, settings: Settings, agent_id: str | None) -> str | None:
    """Return the supervisor for escalations: from the agent's profile, else from the settings."""
    profile = _profile(agents, agent_id)
    return (profile and profile.supervisor) or settings.escalation.supervisor


def _profile(agents: AgentStore, agent_id: str | None) -> AgentProfile | None:
    return agents.get(DEFAULT_AGENT if agent_id is None else agent_id)


def _own_of(profile: AgentProfile | None) -> dict[str, object]:
    """Return the fields of another agent that replace those of its caller."""
    if profile is None:
        return {}
    own = {"max_tokens": profile.max_tokens, "temperature": profile.temperature}
    return {name: value for name, value in own.items() if value is not None}


def _least(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


def _roots(wanted: tuple[str, ...], above: tuple[str, ...], field: str) -> tuple[str, ...]:
    """Return the folders of a task, all inside those that the parent can see."""
    if not above:
        return wanted
    for folder in wanted:
        if not any(_lies_in(folder, root) for root in above):
            raise InvalidInput(f"{folder!r} is outside {', '.join(above)}", field=field)
    return wanted or above


def _lies_in(folder: str, root: str) -> bool:
    parts, outer = folder.strip("/").split("/"), root.strip("/").split("/")
    return ".." not in parts and [part for part in parts if part != "."][: len(outer)] == outer
