"""What a hook is, what it sees and what it may answer."""

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
    """`ALLOW` and `CONTINUE` let the call go on, `ASK` makes a person confirm it."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    MODIFY = "modify"
    MODIFY_RESULT = "modify_result"
    CONTINUE = "continue"


@dataclass(slots=True)
class HookContext:
    """What a hook sees: a copy of its own. `result` is None before the call ran."""

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
    """A hook's answer.

    Before a call, `modified_args` replace its arguments, with MODIFY and with any other
    answer but DENY. `modified_result` goes with MODIFY_RESULT.
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
        filter_names: tools it concerns; None means every tool.
        matches: a further filter on the tool's name.
        on_error: what a hook that raises, hangs or answers nonsense comes to. After the call
            has run, `ask` withholds the result as `deny` does: nobody can be asked any more.
        order: smaller ones run first; the built-in ones run last whatever theirs is.
        only_findings: call it only when the risk analysis found something.
        active: asked when hooks are looked up first; an inactive hook costs nothing.
        slots: how many calls of it, and of those that share it, may be under way.
        origin: where it comes from, for people: `code`, `configuration`, `plugin NAME`.
        matcher: the filter as it was written, for people.
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
    """A pre hook said no, or could not say yes."""

    def __init__(self, hook: str, message: str, *, broken: bool = False) -> None:
        super().__init__(message)
        self.hook = hook
        self.message = message
        self.broken = broken


class HookFailure(NamedTuple):
    """Why a hook gave no usable answer: for programs, and for people."""

    code: str
    message: str


class HookBroken(Exception):
    """Raised by a handler: it has no answer, and the message says why; `code` for programs."""

    code = "hook_broken"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class HookMissing(HookBroken):
    """Raised by a handler: what should answer is not there. A gate that is missing is shut."""

    code = "hook_missing"


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


@dataclass(frozen=True, slots=True)
class HookProblem:
    """A hook plugin that could not be loaded; `is_shut` when calls are denied because of it.

    `code` says for programs what `error` says for people.
    """

    name: str
    where: str
    error: str
    code: str
    is_shut: bool
