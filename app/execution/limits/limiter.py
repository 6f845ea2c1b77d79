"""Limits on calls: which counters apply to a call, and the refusal at a limit.

The user (or their token), the tool and the agent each have their own counters, and the tightest
decides. A call is counted once it has passed policy, before its hooks, so calls that are answered
from the cache or denied by a hook count too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.config.sections import LimitSettings
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.metrics import Metrics
from app.execution.call import CallState, Refusal
from app.execution.context import CallContext
from app.execution.limits.store import Demand, Lease, LimitStore, MemoryLimits, Shortage
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.limits import NAMES, NO_LIMITS, Limits
from app.governance.snapshot import GovernanceSnapshot
from app.governance.tool_settings import ToolSettingsRepository
from app.resolver.resolver import Resolver

_WHAT = {
    "rate_limited": "{limit} calls per minute",
    "concurrency_limited": "{limit} concurrent calls",
    "calls_per_run": "{limit} calls per run",
}
_ADVICE = {
    "rate_limited": "wait {wait:g} s before the next call, or continue without it",
    "concurrency_limited": "make fewer concurrent calls, and repeat this one when others end",
    "calls_per_run": "do not call it again in this run; finish with the results you have",
}
_NEVER = "do not call it again; an administrator has set the limit to 0"


@dataclass(frozen=True, slots=True)
class Queue:
    """Queue limits: number of waiting calls, and waiting time."""

    length: int
    wait_s: float


class Limiter:
    """Applies limits to calls through a store.

    Attributes:
        active: some limit is configured; otherwise only a caller's own limits apply.
        defaults: default limits of each user.
        max_workers: how many calls of one batch run at a time, where it does not say.
    """

    def __init__(
        self,
        store: LimitStore,
        resolver: Resolver,
        *,
        defaults: Limits = NO_LIMITS,
        queue: Queue = Queue(16, 30.0),
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        max_workers: int = 4,
    ) -> None:
        self.store = store
        self.max_workers = max_workers
        self.defaults = defaults
        self.active = defaults.of_calls
        self._resolver = resolver
        self._queue = queue
        self._audit = audit
        self._metrics = metrics
        self._leases: dict[str, Lease] = {}

    def follow(self, snapshot: GovernanceSnapshot) -> None:
        """Apply limits that administrators have changed."""
        limited: Iterable[Limits] = (
            *(state.limits for state in snapshot.tools.values()),
            *(stored.profile.limits for stored in snapshot.agents.values()),
        )
        self.active = self.defaults.of_calls or any(limits.of_calls for limits in limited)

    def concerns(self, context: CallContext) -> bool:
        """Return whether any limit may apply to calls of this context."""
        return self.active or context.quota_subject.limits != NO_LIMITS

    async def admit(self, call: CallState) -> Refusal | None:
        """Count a call against rate and run limits; return why it is refused, if so."""
        demands = self._demands(call)
        if not demands:
            return None
        shortage = await self.store.spend(demands, call.context.counted_run)
        return None if shortage is None else self._refused(call, shortage)

    async def enter(self, call: CallState, *, in_batch: bool) -> Refusal | None:
        """Wait for a slot among the running calls; return why there is none, if so.

        Calls of one batch wait without a time limit, because they may wait for other calls of the
        same, already limited batch.
        """
        demands = self._demands(call)
        if all(demand.limits.concurrent is None for demand in demands):
            return None
        answer = await self.store.enter(
            demands,
            queue=None if in_batch else self._queue.length,
            wait_s=None if in_batch else self._queue.wait_s,
        )
        if isinstance(answer, Shortage):
            return self._refused(call, answer)
        self._leases[call.operation_id] = answer
        return None

    def leave(self, call: CallState) -> None:
        """Release the call's slot, if it has one."""
        if self._leases and (lease := self._leases.pop(call.operation_id, None)) is not None:
            self.store.leave(lease)

    def _demands(self, call: CallState) -> tuple[Demand, ...]:
        context = call.context
        subject = context.quota_subject
        user = Limits.tightest(self.defaults, subject.limits)
        found = [(user_key(context.user_id, subject.token_id), user)]
        if self.active:
            resolved = self._resolver.resolve(context.agent_id)
            state = resolved.states.get(call.tool_name)
            found.append((f"tool:{call.tool_name}", state.limits if state else NO_LIMITS))
            # Calls without an agent count as calls of the agent `default`.
            if profile := resolved.agent:
                found.append((f"agent:{profile.id}", profile.limits))
        return tuple(Demand(key, limits) for key, limits in found if limits.of_calls)

    def _refused(self, call: CallState, shortage: Shortage) -> Refusal:
        details = {
            "limited": shortage.key,
            "limit": shortage.limit,
            "retry_after_ms": shortage.retry_after_ms,
        }
        details = {name: value for name, value in details.items() if value is not None}
        context = call.context
        if self._metrics is not None:
            self._metrics.count("limit_hits", shortage.code)
        if self._audit is not None:
            self._audit.record(
                AuditEntry(
                    "limit.hit",
                    actor=context.user_id or "unknown",
                    subject=shortage.key,
                    session_id=context.session_id,
                    run_id=context.run_id,
                    agent_id=context.agent_id,
                    tool_name=call.tool_name,
                    operation_id=call.operation_id,
                    outcome="denied",
                    detail={"code": shortage.code, **details},
                )
            )
        return Refusal("denied", shortage.code, _sentence(shortage), details)


def user_key(user_id: str | None, token_id: str | None) -> str:
    """Return the key of the counter: the token's if there is one."""
    return f"token:{token_id}" if token_id else f"user:{user_id or 'unknown'}"


def assemble_limits(
    settings: Settings,
    governance: ToolSettingsRepository,
    resolver: Resolver,
    clock: Clock,
    *,
    audit: AuditLog,
    metrics: Metrics,
) -> Limiter:
    """Create the limiter of this process, which follows changes by administrators."""
    limiter = Limiter(
        MemoryLimits(clock),
        resolver,
        defaults=default_limits(settings.limits),
        queue=Queue(settings.limits.queue, settings.limits.queue_s),
        audit=audit,
        metrics=metrics,
        max_workers=settings.tool_max_workers,
    )
    limiter.follow(governance.snapshot)
    governance.on_change(limiter.follow)
    return limiter


def default_limits(settings: LimitSettings) -> Limits:
    """Return the settings' limits."""
    return Limits.from_json({name: getattr(settings, name) for name in NAMES})


def _sentence(shortage: Shortage) -> str:
    """Return the message for the model: the limit, and what to do."""
    scope, _, name = shortage.key.partition(":")
    whose = {
        "tool": f"the tool {name!r}",
        "agent": f"the agent {name!r}",
        "token": "this token",
    }.get(scope, "this user")
    most = _WHAT[shortage.code].format(limit=shortage.limit)
    wait = (shortage.retry_after_ms or 0) / 1000
    advice = _ADVICE[shortage.code].format(wait=wait) if shortage.limit else _NEVER
    return f"Not run: {whose} is limited to {most}; {advice}"
