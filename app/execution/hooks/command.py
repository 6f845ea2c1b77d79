"""Command hooks: programs that receive the call as JSON on standard input and answer by exit code.

Exit 0 continues, and standard output may contain one JSON object with details. Exit 2 denies with
standard error as the reason. Any other code, or unreadable output, counts as a broken hook. A
missing program denies regardless of `on_error`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from math import ceil
from typing import Any

import orjson

from app.config.sections import HookSettings
from app.core.errors import TollgateError
from app.core.escaping import unpadded
from app.core.matcher import compile_matcher
from app.core.text import dump_json, truncate
from app.execution.hooks.model import (
    CONTINUE,
    HookAction,
    HookBroken,
    HookConfig,
    HookContext,
    HookMissing,
    HookResult,
    HookType,
)
from app.operations.protocols.processes import (
    ProcessExit,
    ProcessLimits,
    ProcessOperations,
    ProcessSpec,
    RunningProcess,
)

MAX_AT_ONCE = 8
MAX_STDOUT = 256 << 10
MAX_STDERR = 64 << 10
MAX_REASON_CHARS = 2000
DENIED = 2
_MEMORY_BYTES = 2 << 30  # Per process of a hook: the operator's own programs are not sandboxed.
_NOT_THERE = (126, 127)  # exit code of a shell if a program cannot be started
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.")
_WORDS = {
    "allow": HookAction.ALLOW,
    "approve": HookAction.ALLOW,
    "ask": HookAction.ASK,
    "deny": HookAction.DENY,
    "block": HookAction.DENY,
}
_STRICTEST = (HookAction.DENY, HookAction.ASK, HookAction.ALLOW)
# Other output of coding agents' hooks; ignored here.
_PASSED_OVER = {"suppressOutput", "systemMessage", "hookEventName", "additionalContext"}
_KNOWN = _PASSED_OVER | {
    "decision",
    "reason",
    "modified_input",
    "modified_result",
    "continue",
    "stopReason",
    "hookSpecificOutput",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
}

NamesOf = Callable[[str], Iterable[str]]


def command_hooks(
    settings: Iterable[HookSettings],
    processes: ProcessOperations,
    names_of: NamesOf,
    environ: Mapping[str, str] = os.environ,
) -> list[HookConfig]:
    """Return the configured programs as hooks.

    Args:
        processes: starts programs in the folder against which relative commands are resolved.
        names_of: returns all names of a tool; a matcher may use any of them.
        environ: source of the environment variables that hooks may receive.
    """
    slots = asyncio.Semaphore(MAX_AT_ONCE)
    return [_hook(item, processes, names_of, environ, slots) for item in settings]


def _hook(
    item: HookSettings,
    processes: ProcessOperations,
    names_of: NamesOf,
    environ: Mapping[str, str],
    slots: asyncio.Semaphore,
) -> HookConfig:
    pattern = compile_matcher(item.matcher)

    def matches(tool_name: str) -> bool:
        return any(pattern.fullmatch(name) for name in (tool_name, *names_of(tool_name)))

    return HookConfig(
        name=item.name,
        hook_type=HookType(item.event),
        handler=CommandHook(item, processes, environ),
        timeout_s=item.timeout_s,
        on_error=item.on_error,
        order=item.order,
        matches=matches,
        slots=slots,
        origin="configuration",
        matcher=item.matcher,
    )


class CommandHook:
    """Hook that runs one program."""

    def __init__(
        self, item: HookSettings, processes: ProcessOperations, environ: Mapping[str, str]
    ) -> None:
        self._kind = HookType(item.event)
        self._processes = processes
        self._argv = argv_of(item)
        self._env = {name: environ[name] for name in item.env if name in environ}
        self._limits = ProcessLimits(cpu_s=ceil(item.timeout_s) + 1, memory_bytes=_MEMORY_BYTES)

    async def __call__(self, context: HookContext) -> HookResult:
        """Run the program and return its answer; cancelling stops it with all its processes.

        Raises:
            HookBroken: the answer is unusable.
            HookMissing: the program cannot be started.
        """
        spec = ProcessSpec(
            argv=self._argv,
            env=self._env,
            stdin=dump_json(hook_input(self._kind, context)),
            limits=self._limits,
        )
        async with AsyncExitStack() as stack:
            try:
                process = await stack.enter_async_context(self._processes.open(spec))
            except TollgateError as error:
                raise HookMissing(error.message) from None
            out, err = await _read(process)
            ended = await process.wait()
        return self._answer(ended, out, readable(err))

    def _answer(self, ended: ProcessExit, out: bytes, err: str) -> HookResult:
        if ended.code == DENIED and ended.signal is None:
            return HookResult(HookAction.DENY, err or None)
        if ended.code in _NOT_THERE and ended.signal is None:
            raise HookMissing(f"cannot start its program: {err or f'exit {ended.code}'}")
        if ended.code != 0:
            how = f"exit {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            raise HookBroken(f"{how}: {err}" if err else how, code="hook_exit")
        return answer_of(self._kind, out)


def argv_of(item: HookSettings) -> tuple[str, ...]:
    """Return the command line: the list as is, or a shell with the text."""
    if isinstance(item.command, str):
        return ("/bin/sh", "-c", item.command)
    return tuple(item.command)


def hook_input(kind: HookType, context: HookContext) -> dict[str, Any]:
    """Return the input of a program about a call; unknown fields are omitted."""
    decision, result = context.decision, context.result
    fields: dict[str, Any] = {
        "hook_event_name": kind.value,
        "tool_name": context.tool_name,
        "tool_input": context.arguments,
        "session_id": context.session_id,
        "run_id": context.run_id,
        "agent_id": context.agent_id,
        "user_id": context.user_id,
        "tool_call_id": context.tool_call_id,
        "operation_id": context.operation_id,
        "caller": context.caller,
        "cwd": context.cwd,
        "reason": context.reason,
    }
    if decision is not None:
        reasons = [finding.why for finding in decision.findings] or [decision.reason]
        fields["decision"] = {
            "verdict": decision.verdict.value,
            "reasons": [reason for reason in dict.fromkeys(reasons) if reason],
            "risk": decision.risk,
        }
    if result is not None:
        fields["tool_response"] = {
            **result.to_dict(),
            "code": result.code,
            "text": result.for_model(),
        }
    return {name: value for name, value in fields.items() if value is not None}


def answer_of(kind: HookType, out: bytes) -> HookResult:
    """Parse the standard output; empty output allows the call.

    Raises:
        HookBroken: the output is not one JSON object, has unknown values, or values not allowed at
            this moment. A mistake in a gate's answer must not count as consent.
    """
    if not out.strip():
        return CONTINUE
    try:
        said = orjson.loads(out)
    except orjson.JSONDecodeError:
        raise _unreadable("it did not print exactly one JSON object") from None
    if not isinstance(said, dict):
        raise _unreadable("it printed JSON that is not an object")
    inner = said.get("hookSpecificOutput", {})
    if not isinstance(inner, dict):
        raise _unreadable("its hookSpecificOutput is not an object")
    if unknown := sorted((said.keys() | inner.keys()) - _KNOWN):
        keys = ", ".join(unknown)[:200]
        raise HookBroken(f"it printed unknown keys: {keys}", code="hook_unknown_keys")
    action = _action(said, inner)
    reason = _reason(said, inner)
    if action is HookAction.DENY:
        return HookResult(action, reason)
    if kind is HookType.POST_TOOL_USE and "modified_result" in said:
        return HookResult(HookAction.MODIFY_RESULT, modified_result=said["modified_result"])
    modified = said.get("modified_input", inner.get("updatedInput"))
    if modified is None and "modified_result" not in said:
        return HookResult(action, reason)
    if kind is not HookType.PRE_TOOL_USE or not isinstance(modified, dict):
        raise HookBroken(
            "modified_input must be an object and is only valid before the call; "
            "modified_result only after it",
            code="hook_bad_change",
        )
    modifies = HookAction.ASK if action is HookAction.ASK else HookAction.MODIFY
    return HookResult(modifies, reason, modified)


def _unreadable(what: str) -> HookBroken:
    return HookBroken(what, code="hook_bad_output")


def _action(said: Mapping[str, Any], inner: Mapping[str, Any]) -> HookAction:
    """Return the stricter action of the two accepted notations."""
    words = [said.get("decision"), inner.get("permissionDecision")]
    found = set()
    for word in words:
        if word is not None:
            action = _WORDS.get(word) if isinstance(word, str) else None
            if action is None:
                raise HookBroken(
                    f"it decided {str(word)[:60]!r}; must be allow, ask or deny",
                    code="hook_bad_decision",
                )
            found.add(action)
    goes_on = said.get("continue", True)
    if not isinstance(goes_on, bool):
        raise HookBroken("its `continue` is neither true nor false", code="hook_bad_decision")
    if not goes_on:
        return HookAction.DENY
    return next((action for action in _STRICTEST if action in found), HookAction.CONTINUE)


def _reason(said: Mapping[str, Any], inner: Mapping[str, Any]) -> str | None:
    for given in (
        said.get("reason"),
        inner.get("permissionDecisionReason"),
        said.get("stopReason"),
    ):
        if isinstance(given, str) and (text := _clean(given)):
            return text
    return None


async def _read(process: RunningProcess) -> tuple[bytes, bytes]:
    """Read both streams; standard error only up to its limit."""
    out, err = bytearray(), bytearray()
    async for chunk in process.output():
        if chunk.stream == "stdout":
            out += chunk.data
            if len(out) > MAX_STDOUT:
                most = f"it printed more than {MAX_STDOUT >> 10} KiB"
                raise HookBroken(most, code="hook_output_too_long")
        elif len(err) < MAX_STDERR:
            err += chunk.data[: MAX_STDERR - len(err)]
    return bytes(out), bytes(err)


def readable(text: bytes) -> str:
    """Return a program's output without terminal codes, with invisible characters escaped."""
    return _clean(text.decode("utf-8", "replace"))


def _clean(text: str) -> str:
    plain = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\t", " ")
    return truncate(unpadded(plain.strip()), MAX_REASON_CHARS)
