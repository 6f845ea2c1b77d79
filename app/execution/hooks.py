"""Hooks: code around a call. They may tighten what policy allowed, never loosen it.

Order: global hooks in the order of registration, then the tool's own, then the
built-in ones, so that what asks a person sees the arguments that would really run.
A gate hook that raises, hangs or answers nonsense denies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from app.core.contain import Contained
from app.policy.decision import Decision
from app.toolkit.result import ToolResult

log = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 10.0
MAX_CACHED = 10_000


class HookType(StrEnum):
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    TOOL_ERROR = "tool_error"
    TOOL_SKIP = "tool_skip"


class HookAction(StrEnum):
    """`ALLOW` and `CONTINUE` let the call go on, `ASK` makes a person confirm it."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    MODIFY = "modify"
    MODIFY_RESULT = "modify_result"
    CONTINUE = "continue"


@dataclass(slots=True)
class HookContext:
    """What a hook sees. `result` is None before the call ran."""

    tool_name: str
    arguments: dict[str, Any]
    phase: Literal["PRE", "POST"]
    result: ToolResult | None = None
    decision: Decision | None = None
    session_id: str | None = None
    agent_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HookResult:
    """A hook's answer; `modified_args` goes with MODIFY, `modified_result` with MODIFY_RESULT."""

    action: HookAction
    message: str | None = None
    modified_args: dict[str, Any] | None = None
    modified_result: Any = None


def _always() -> bool:
    return True


HookHandler = Callable[[HookContext], Awaitable[HookResult | None]]


@dataclass(frozen=True, slots=True)
class HookConfig:
    """One hook.

    Attributes:
        filter_names: tools it concerns; None means every tool.
        only_findings: call it only when the risk analysis found something.
        active: asked when hooks are looked up first; an inactive hook costs nothing.
    """

    name: str
    hook_type: HookType
    handler: HookHandler
    filter_names: frozenset[str] | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    builtin: bool = False
    only_findings: bool = False
    active: Callable[[], bool] = _always

    def concerns(self, tool_name: str) -> bool:
        return self.filter_names is None or tool_name in self.filter_names


class HookDenied(Exception):
    """A pre hook said no, or could not say yes."""

    def __init__(self, hook: str, message: str, *, broken: bool = False) -> None:
        super().__init__(message)
        self.hook = hook
        self.message = message
        self.broken = broken


@dataclass(slots=True)
class PreOutcome:
    """What the pre hooks add up to."""

    arguments: dict[str, Any]
    modified: bool = False
    ask_reasons: list[str] = field(default_factory=list)


class HookPlan(NamedTuple):
    """The hooks of one tool by the moment they are called at."""

    pre: tuple[HookConfig, ...]
    pre_with_findings: tuple[HookConfig, ...]
    post: tuple[HookConfig, ...]
    error: tuple[HookConfig, ...]
    skip: tuple[HookConfig, ...]


Redecide = Callable[[dict[str, Any]], Decision]


class Hooks:
    """All registered hooks, looked up per tool and type from a flat cache."""

    def __init__(self) -> None:
        self._hooks: list[HookConfig] = []
        self._of_tools: list[HookConfig] = []
        self._plans: dict[str, HookPlan] = {}
        self._cache: dict[tuple[HookType, str, bool], tuple[HookConfig, ...]] = {}

    def register(self, hook: HookConfig, *, tool_name: str | None = None) -> None:
        """Add a hook, for one tool when `tool_name` is given."""
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
        """Take the hooks that tools were registered with, in place of the former ones."""
        self._of_tools = [
            replace(hook, filter_names=frozenset({tool_name}))
            for tool_name, brought in hooks.items()
            for hook in brought
        ]
        self._forget()

    def list_all(self) -> list[HookConfig]:
        return [*self._hooks, *self._of_tools]

    def of(
        self, kind: HookType, tool_name: str, *, findings: bool = True
    ) -> tuple[HookConfig, ...]:
        """The hooks of one type for one tool, in order; a dict lookup once it was asked for."""
        if len(self._cache) > MAX_CACHED:
            self._forget()  # callers may make up as many names as they like
        key = (kind, tool_name, findings)
        found = self._cache.get(key)
        if found is None:
            chosen = [
                hook
                for hook in self.list_all()
                if hook.hook_type is kind
                and hook.concerns(tool_name)
                and hook.active()
                and (findings or not hook.only_findings)
            ]
            chosen.sort(key=_rank)
            found = self._cache[key] = tuple(chosen)
        return found

    def plan(self, tool_name: str) -> HookPlan:
        """Everything that concerns one tool: what the executor asks for on every call."""
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
        """Run the pre hooks; an argument change is judged anew before the next one sees it.

        Raises:
            HookDenied: one denied, or broke: a gate that cannot answer is shut.
        """
        outcome = PreOutcome(context.arguments)
        for hook in self.of(HookType.PRE_TOOL_USE, context.tool_name):
            if hook.only_findings and not (context.decision and context.decision.findings):
                continue
            answer = await _ask_gate(hook, context)
            if answer.action is HookAction.DENY:
                raise HookDenied(hook.name, answer.message or f"Denied by hook {hook.name!r}")
            if answer.action is HookAction.ASK:
                outcome.ask_reasons.append(answer.message or f"Hook {hook.name!r} asks")
            elif answer.action is HookAction.MODIFY:
                if answer.modified_args is None:
                    raise HookDenied(hook.name, "MODIFY without modified_args", broken=True)
                outcome.arguments = context.arguments = dict(answer.modified_args)
                outcome.modified = True
                context.decision = redecide(context.arguments)
            elif answer.action is HookAction.MODIFY_RESULT:
                raise HookDenied(hook.name, "MODIFY_RESULT before the call ran", broken=True)
        return outcome

    async def after(self, context: HookContext) -> ToolResult | None:
        """Run the post hooks; the replaced result, or None when it stays.

        A post hook that denies or breaks withholds the result: a redaction that failed
        must not let the original through.
        """
        replaced: ToolResult | None = None
        for hook in self.of(HookType.POST_TOOL_USE, context.tool_name):
            try:
                answer = await _ask_gate(hook, context)
            except HookDenied as denied:
                return ToolResult.fail(
                    f"Result withheld: hook {hook.name!r} failed ({denied.message})",
                    code="hook_failed",
                )
            if answer.action is HookAction.DENY:
                message = answer.message or f"Result withheld by hook {hook.name!r}"
                return ToolResult.fail(message, code="hook_denied")
            if answer.action is HookAction.MODIFY_RESULT:
                context.result = replaced = _result(answer.modified_result)
        return replaced

    async def notify(self, kind: HookType, context: HookContext) -> None:
        """Run error or skip hooks: they watch, and cannot change what happened."""
        for hook in self.of(kind, context.tool_name):
            try:
                await _ask_gate(hook, context)
            except HookDenied as denied:
                log.warning("hook %s failed on %s: %s", hook.name, kind.value, denied.message)


def _rank(hook: HookConfig) -> int:
    if hook.builtin:
        return 2
    return 0 if hook.filter_names is None else 1


def _result(value: Any) -> ToolResult:
    return value if isinstance(value, ToolResult) else ToolResult.ok(value)


async def _ask_gate(hook: HookConfig, context: HookContext) -> HookResult:
    """One hook's answer; whatever goes wrong becomes `HookDenied`."""
    answer: object = None
    with Contained() as held:
        async with asyncio.timeout(hook.timeout_s):
            answer = await hook.handler(context)
    if isinstance(held.error, TimeoutError):
        message = f"Hook {hook.name!r} gave no answer within {hook.timeout_s:g} s"
        raise HookDenied(hook.name, message, broken=True)
    if held.error is not None:
        log.error("hook %s raised", hook.name, exc_info=held.error)
        message = f"Hook {hook.name!r} failed ({type(held.error).__name__}); the call was not run"
        raise HookDenied(hook.name, message, broken=True)
    if answer is None:
        return HookResult(HookAction.CONTINUE)
    if not isinstance(answer, HookResult) or not isinstance(answer.action, HookAction):
        message = f"Hook {hook.name!r} gave an unknown answer; the call was not run"
        raise HookDenied(hook.name, message, broken=True)
    return answer
