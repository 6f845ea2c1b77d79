"""Hook chain: hooks may tighten what policy allowed, never loosen it.

Hooks run by `order`, then hooks for every tool before the tool's own, then in order of
registration; the built-in ones run last, so that a confirmation shows the arguments that would
really run. A gate hook that raises, hangs or returns an invalid answer denies, unless its
`on_error` says otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app.core.clock import Clock, SystemClock, isoformat
from app.core.error_boundary import ErrorBoundary, try_call
from app.core.loop_watch import BlockedTheLoop, foreign
from app.core.text import clean, truncate
from app.execution.hooks.model import (
    CONTINUE,
    HookAction,
    HookBroken,
    HookConfig,
    HookContext,
    HookDenied,
    HookFailure,
    HookMissing,
    HookPlan,
    HookProblem,
    HookResult,
    HookType,
    PreOutcome,
)
from app.policy.decision import Decision
from app.toolkit.result import ToolResult

log = logging.getLogger(__name__)

MAX_CACHED = 10_000
MAX_MESSAGE_CHARS = 4000

Redecide = Callable[[dict[str, Any]], Decision]
OnFailure = Callable[[HookConfig, HookContext, HookFailure, str], None]

KEPT = 512


@dataclass(slots=True)
class HookStats:
    """Statistics of one hook. `failures` are infrastructure errors, not denials."""

    calls: int = 0
    asks: int = 0
    denies: int = 0
    changes: int = 0
    failures: int = 0
    last_failure: HookFailure | None = None
    last_failed_at: str | None = None
    _durations: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def ran(self, seconds: float) -> None:
        """Record the duration of an answer."""
        self.calls += 1
        self._durations.append(seconds)

    def failed(self, failure: HookFailure, moment: str) -> None:
        """Record a failure to answer."""
        self.failures += 1
        self.last_failure, self.last_failed_at = failure, moment

    def percentile_ms(self, share: float) -> float | None:
        """Return the percentile `share` of the recent durations, in milliseconds."""
        if not self._durations:
            return None
        ordered = sorted(self._durations)
        place = min(len(ordered) - 1, int(share * len(ordered)))
        return round(ordered[place] * 1000, 3)


class Hooks:
    """All registered hooks, looked up per tool and type from a flat cache.

    Attributes:
        problems: hook plugins that could not be loaded.
        on_failure: called for every hook without a usable answer, with the hook, its input, the
            failure and the effect (`denied`, `asked`, `withheld`, `allowed` or `ignored`).
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._hooks: list[HookConfig] = []
        self._of_tools: list[HookConfig] = []
        self._plans: dict[str, HookPlan] = {}
        self._cache: dict[tuple[HookType, str, bool], tuple[HookConfig, ...]] = {}
        self._stats: dict[tuple[str, HookType], HookStats] = {}
        self.problems: list[HookProblem] = []
        self.on_failure: OnFailure | None = None

    def register(self, hook: HookConfig, *, tool_name: str | None = None) -> None:
        """Add a hook; with `tool_name`, for that tool only."""
        if tool_name is not None:
            hook = replace(hook, filter_names=frozenset({tool_name}))
        self._hooks.append(hook)
        self._forget()

    def _forget(self) -> None:
        self._cache.clear()
        self._plans.clear()

    def unregister(self, name: str) -> None:
        """Remove every hook of that name."""
        self._hooks = [hook for hook in self._hooks if hook.name != name]
        self._forget()

    def replace_tool_hooks(self, hooks: Mapping[str, Sequence[HookConfig]]) -> None:
        """Replace the hooks that came with tools."""
        self._of_tools = [
            replace(hook, filter_names=frozenset({tool_name}), origin=f"tool {tool_name}")
            for tool_name, brought in hooks.items()
            for hook in brought
        ]
        self._forget()

    def list_all(self) -> list[HookConfig]:
        return [*self._hooks, *self._of_tools]

    def in_order(self) -> list[HookConfig]:
        """Return all hooks by type, in calling order."""
        kinds = list(HookType)
        return sorted(self.list_all(), key=lambda hook: (kinds.index(hook.hook_type), _rank(hook)))

    def stats(self, hook: HookConfig) -> HookStats:
        """Return the statistics of this hook; hooks of the same name and type share them."""
        key = (hook.name, hook.hook_type)
        found = self._stats.get(key)
        if found is None:
            found = self._stats[key] = HookStats()
        return found

    def of(
        self, kind: HookType, tool_name: str, *, findings: bool = True
    ) -> tuple[HookConfig, ...]:
        """Return the hooks of one type for one tool, in order; cached after the first lookup."""
        if len(self._cache) > MAX_CACHED:
            self._forget()  # callers may invent any number of names
        key = (kind, tool_name, findings)
        found = self._cache.get(key)
        if found is None:
            chosen = [
                hook
                for hook in self.list_all()
                if hook.hook_type is kind
                and (findings or not hook.only_findings)
                and _applies(hook, tool_name)
            ]
            chosen.sort(key=_rank)
            found = self._cache[key] = tuple(chosen)
        return found

    def plan(self, tool_name: str) -> HookPlan:
        """Return all hooks of one tool, which the executor needs for every call."""
        plan = self._plans.get(tool_name)
        if plan is None:
            plan = self._plans[tool_name] = HookPlan(
                self.of(HookType.PRE_TOOL_USE, tool_name, findings=False),
                self.of(HookType.PRE_TOOL_USE, tool_name),
                self.of(HookType.POST_TOOL_USE, tool_name),
                self.of(HookType.TOOL_ERROR, tool_name),
                self.of(HookType.TOOL_SKIP, tool_name),
            )
        return plan

    async def before(self, context: HookContext, redecide: Redecide) -> PreOutcome:
        """Run the pre hooks; changed arguments are evaluated again before the next hook.

        A reason to ask stays, whatever later hooks answer.

        Raises:
            HookDenied: a hook denied or failed: a gate that cannot answer denies.
            InvalidArguments: a hook returned invalid arguments.
        """
        outcome = PreOutcome(context.arguments)
        for hook in self.of(HookType.PRE_TOOL_USE, context.tool_name):
            if hook.only_findings and not (context.decision and context.decision.findings):
                continue
            answer = await self._ask(hook, context)
            if answer.action is HookAction.DENY:
                raise HookDenied(hook.name, answer.message or f"Denied by hook {hook.name!r}")
            if answer.action is HookAction.ASK:
                outcome.ask_reasons.append(
                    answer.message or f"Hook {hook.name!r} requires approval"
                )
            if answer.modified_args is not None:
                outcome.arguments = context.arguments = deepcopy(answer.modified_args)
                outcome.modified = True
                context.decision = redecide(deepcopy(context.arguments))
        return outcome

    async def after(self, context: HookContext) -> ToolResult | None:
        """Run the post hooks; return the replacement result, or None if unchanged.

        A post hook that denies or fails withholds the result: a failed redaction must not release
        the original.
        """
        replaced: ToolResult | None = None
        seen = replace(context)
        for hook in self.of(HookType.POST_TOOL_USE, context.tool_name):
            try:
                answer = await self._ask(hook, seen)
            except HookDenied as denied:
                return ToolResult.fail(
                    f"Result withheld: hook {hook.name!r} failed ({denied.message})",
                    code="hook_failed",
                )
            if answer.action is HookAction.DENY:
                message = answer.message or f"Result withheld by hook {hook.name!r}"
                return ToolResult.fail(message, code="hook_denied")
            if answer.action is HookAction.MODIFY_RESULT:
                seen.result = replaced = _result(answer.modified_result)
        return replaced

    async def notify(self, kind: HookType, context: HookContext) -> None:
        """Run error or skip hooks, which observe and cannot change the result."""
        for hook in self.of(kind, context.tool_name):
            await self._ask(hook, context)

    async def _ask(self, hook: HookConfig, context: HookContext) -> HookResult:
        """Return one hook's answer, or the effect of its failure.

        Raises:
            HookDenied: it failed, and its `on_error` denies.
        """
        # Each hook receives a copy: its changes must not affect others.
        seen = context if hook.builtin else replace(context, arguments=deepcopy(context.arguments))
        stats = self.stats(hook)
        started = self._clock.monotonic()
        answer: object = None
        around = nullcontext() if hook.builtin else foreign(f"hook {hook.name}")
        with ErrorBoundary() as held, around:
            if hook.slots is None:
                async with asyncio.timeout(hook.timeout_s):
                    answer = await hook.handler(seen)
            else:
                async with hook.slots, asyncio.timeout(hook.timeout_s):
                    answer = await hook.handler(seen)
        stats.ran(self._clock.monotonic() - started)
        if held.error is not None:
            return self._failed(hook, context, _failure_of(hook, held.error), held.error)
        if answer is None:
            return CONTINUE
        wrong = _wrong(hook, answer)
        if wrong is not None:
            failure = HookFailure(code="hook_wrong_answer", message=f"Hook {hook.name!r} {wrong}")
            return self._failed(hook, context, failure, None)
        assert isinstance(answer, HookResult)
        if answer.action is HookAction.DENY:
            stats.denies += 1
        elif answer.action is HookAction.ASK:
            stats.asks += 1
        elif answer.action in (HookAction.MODIFY, HookAction.MODIFY_RESULT):
            stats.changes += 1
        return answer

    def _failed(
        self,
        hook: HookConfig,
        context: HookContext,
        failure: HookFailure,
        error: BaseException | None,
    ) -> HookResult:
        """Record a broken hook: an infrastructure error, not a decision."""
        outcome = _outcome(hook, missing=isinstance(error, HookMissing))
        message = failure.message
        self.stats(hook).failed(failure, isoformat(self._clock.now()))
        expected = isinstance(error, HookBroken | TimeoutError) or error is None
        log.error(
            "hook %s failed on %s of %s (%s): %s",
            hook.name,
            hook.hook_type.value,
            context.tool_name,
            outcome,
            message,
            exc_info=None if expected else error,
        )
        if self.on_failure is not None:
            self.on_failure(hook, context, failure, outcome)
        if outcome == "denied":
            raise HookDenied(hook.name, f"{message}; the call was not run", broken=True)
        if outcome == "withheld":
            raise HookDenied(hook.name, message, broken=True)
        if outcome == "asked":
            return HookResult(HookAction.ASK, f"{message}; this call was not checked")
        return CONTINUE


def _applies(hook: HookConfig, tool_name: str) -> bool:
    """Return whether the hook applies; if its filter raises, it does."""
    for question in (partial(hook.concerns, tool_name), hook.active):
        answer, error = try_call(question)
        if error is not None:
            log.error(
                "the filter of hook %s raised an exception, so the hook is called",
                hook.name,
                exc_info=error,
            )
        elif not answer:
            return False
    return True


def _rank(hook: HookConfig) -> tuple[bool, int, bool]:
    return hook.builtin, hook.order, hook.filter_names is not None


def _result(value: Any) -> ToolResult:
    return value if isinstance(value, ToolResult) else ToolResult.ok(value)


def _outcome(hook: HookConfig, *, missing: bool) -> str:
    """Return the outcome of a failed hook."""
    if hook.hook_type is HookType.PRE_TOOL_USE:
        if missing or hook.on_error not in ("ask", "allow"):
            return "denied"
        return "asked" if hook.on_error == "ask" else "allowed"
    if hook.hook_type is HookType.POST_TOOL_USE:
        return "allowed" if hook.on_error == "allow" and not missing else "withheld"
    return "ignored"


def _failure_of(hook: HookConfig, error: BaseException) -> HookFailure:
    name = repr(hook.name)
    if isinstance(error, TimeoutError):
        message = f"Hook {name} did not respond within {hook.timeout_s:g} s"
        return HookFailure(code="hook_timeout", message=message)
    if isinstance(error, HookBroken):
        said = truncate(clean(str(error)), MAX_MESSAGE_CHARS)
        return HookFailure(code=error.code, message=f"Hook {name} failed: {said}")
    if isinstance(error, BlockedTheLoop):
        return HookFailure(code="hook_timeout", message=str(error))
    # The text of an unknown exception may contain anything; only the log has it.
    message = f"Hook {name} failed ({type(error).__name__})"
    return HookFailure(code="hook_raised", message=message)


def _wrong(hook: HookConfig, answer: object) -> str | None:
    """Return what is wrong with an answer, or None."""
    if not isinstance(answer, HookResult) or not isinstance(answer.action, HookAction):
        return "returned an unknown answer"
    message: object = answer.message
    if message is not None and not isinstance(message, str):
        return "returned a message that is not text"
    kind, action, arguments = hook.hook_type, answer.action, answer.modified_args
    if kind is HookType.PRE_TOOL_USE:
        if action is HookAction.MODIFY_RESULT:
            return "returned MODIFY_RESULT before the call ran"
        if not isinstance(arguments, dict) and (
            arguments is not None or action is HookAction.MODIFY
        ):
            return f"returned {action.name} without an object of arguments"
    elif kind is HookType.POST_TOOL_USE and action in (HookAction.MODIFY, HookAction.ASK):
        return f"returned {action.name} after the call ran"
    return None
