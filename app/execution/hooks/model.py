"""Hook types: context, actions and results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from app.policy.decision import Decision
from app.toolkit.result import ToolResult

DEFAULT_TIMEOUT_S = 10.0
OnError = Literal["deny", "ask", "allow"]


class HookType(StrEnum):
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    TOOL_ERROR = "tool_error"
    TOOL_SKIP = "tool_skip"


class HookAction(StrEnum):
    """Action of a hook: `ALLOW` and `CONTINUE` let the call continue, `ASK` requires approval."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    MODIFY = "modify"
    MODIFY_RESULT = "modify_result"
    CONTINUE = "continue"


@dataclass(slots=True)
class HookContext:
    """Input of a hook, a copy per hook. `result` is None before the call."""

    tool_name: str
    arguments: dict[str, Any]
    phase: Literal["PRE", "POST"]
    result: ToolResult | None = None
    decision: Decision | None = None
    session_id: str | None = None
    agent_id: str | None = None
    reason: str | None = None
    run_id: str | None = None
    user_id: str | None = None
    tool_call_id: str | None = None
    operation_id: str | None = None
    cwd: str | None = None
    caller: str | None = None


@dataclass(frozen=True, slots=True)
class HookResult:
    """Answer of a hook.

    Before a call, `modified_args` replace its arguments, with MODIFY and with any other answer
    except DENY. `modified_result` belongs to MODIFY_RESULT.
    """

    action: HookAction
    message: str | None = None
    modified_args: dict[str, Any] | None = None
    modified_result: Any = None


CONTINUE = HookResult(HookAction.CONTINUE)


def _always() -> bool:
    return True


HookHandler = Callable[[HookContext], Awaitable[HookResult | None]]


@dataclass(frozen=True, slots=True)
class HookConfig:
    """One hook.

    Attributes:
        filter_names: tools the hook applies to; None for every tool.
        matches: additional filter on the tool's name.
        on_error: effect of a hook that raises, hangs or returns an invalid answer. After the call,
            `ask` withholds the result like `deny`, because approval is no longer possible.
        order: smaller values run first; built-in hooks always run last.
        only_findings: called only if the risk analysis found something.
        active: evaluated at the first lookup; an inactive hook costs nothing.
        slots: maximum concurrent calls of the hooks that share it.
        origin: source of the hook, for people: `code`, `configuration`, `plugin NAME`.
        matcher: original text of the filter, for people.
    """

    name: str
    hook_type: HookType
    handler: HookHandler
    filter_names: frozenset[str] | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    builtin: bool = False
    only_findings: bool = False
    active: Callable[[], bool] = _always
    on_error: OnError = "deny"
    order: int = 0
    matches: Callable[[str], bool] | None = None
    slots: asyncio.Semaphore | None = None
    origin: str = "code"
    matcher: str | None = None

    def concerns(self, tool_name: str) -> bool:
        if self.filter_names is not None and tool_name not in self.filter_names:
            return False
        return self.matches is None or self.matches(tool_name)


class HookDenied(Exception):
    """A pre hook denied the call, or failed."""

    def __init__(self, hook: str, message: str, *, broken: bool = False) -> None:
        super().__init__(message)
        self.hook = hook
        self.message = message
        self.broken = broken


class HookFailure(NamedTuple):
    """Failure of a hook, as code and message."""

    code: str
    message: str


class HookBroken(Exception):
    """Raised by a handler without an answer; the message is the reason, `code` its code for
    programs.
    """

    code = "hook_broken"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class HookMissing(HookBroken):
    """Raised by a handler whose program is missing. A missing gate denies."""

    code = "hook_missing"


@dataclass(slots=True)
class PreOutcome:
    """Combined result of the pre hooks."""

    arguments: dict[str, Any]
    modified: bool = False
    ask_reasons: list[str] = field(default_factory=list)


class HookPlan(NamedTuple):
    """Hooks of one tool, by type."""

    pre: tuple[HookConfig, ...]
    pre_with_findings: tuple[HookConfig, ...]
    post: tuple[HookConfig, ...]
    error: tuple[HookConfig, ...]
    skip: tuple[HookConfig, ...]


@dataclass(frozen=True, slots=True)
class HookProblem:
    """Hook plugin that could not be loaded; `is_shut` if calls are denied because of it.

    `code` is for programs, `error` for people.
    """

    name: str
    where: str
    error: str
    code: str
    is_shut: bool
