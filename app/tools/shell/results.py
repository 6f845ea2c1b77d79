"""Results of commands, for models, people and programs."""

from __future__ import annotations

import re
import shlex
from typing import Any

from app.domain.processes import SessionProcess
from app.operations.protocols.processes import STOP_REASONS, ExitReason, ProcessExit
from app.toolkit.result import RawResult, ToolResult
from app.tools.shell.transcript import Transcript, clip

MAX_CHARS = 10_000
_LABEL_ROOM = 900
_MAX_NAMED = 8

_EXIT_MEANINGS = {
    124: "the command's own time limit ran out",
    126: "found, but cannot be executed",
    127: "command not found",
    130: "interrupted",
    134: "aborted",
    137: "killed, possibly for using too much memory",
    139: "crashed with a segmentation fault",
    141: "its output was closed",
    143: "terminated",
    152: "CPU time limit exceeded",
    153: "file size limit exceeded",
}
_STATUS_ONE = {
    "cmp": "the files differ",
    "diff": "the files differ",
    "egrep": "no lines matched",
    "fgrep": "no lines matched",
    "grep": "no lines matched",
    "pgrep": "no process matched",
    "rg": "no lines matched",
    "test": "the condition is false",
    "[": "the condition is false",
}
_SEPARATORS = frozenset("();<>|&")

NO_NETWORK = (
    "No network: the command tried to reach an external address, which commands of "
    "this project cannot do. The operator can allow hosts or open ports: "
    "`allowed_hosts` or `tcp_ports` of the project, for the default project "
    "TOLLGATE_SANDBOX__ALLOWED_HOSTS=github.com or TOLLGATE_SANDBOX__TCP_PORTS=53,443. "
    "Retrying does not help"
)
NO_AUTHOR = (
    "git has no author here: the operator can set TOLLGATE_SANDBOX__GIT_NAME and "
    "TOLLGATE_SANDBOX__GIT_EMAIL; for one command: git -c user.name=NAME -c "
    "user.email=MAIL"
)
_OWN_NETWORK, _MACHINES_NETWORK = "namespaces", "landlock-net"
_LOOKED_AT = 4_000
# For cases without kernel counters: the machine's network, and refused sockets.
_CUT_OFF = re.compile(
    r"could not resolve host|name or service not known|temporary failure in name resolution"
    r"|getaddrinfo|eai_again|network is unreachable|enetunreach|no such host"
    r"|failed to lookup address|dial (?:tcp|udp)|socket: operation not permitted"
    r"|connection (?:timed out|refused).{0,80}port \d+|failed to connect to \S+ port",
    re.IGNORECASE,
)
_AUTHOR = re.compile(
    r"please tell me who you are|empty ident name|no email was given", re.IGNORECASE
)


def why_ended(reason: ExitReason) -> str | None:
    """Return why something else ended the program, or None if it ended by itself."""
    return STOP_REASONS.get(reason)


def code_of_end(reason: ExitReason) -> str:
    """The error code of what something else than the program itself ended."""
    if reason == "timeout":
        return "timeout"
    return "disk_full" if reason == "disk_full" else "limit_exceeded"


def finished(
    command: str, transcript: Transcript, ended: ProcessExit, notes: str, process_id: str | None
) -> ToolResult:
    """Return the result of a command that ended, by itself or at a limit.

    Args:
        process_id: process with the complete output, if stored.
    """
    data = _data(transcript, ended, process_id)
    notes = _lines(hints(ended, data["stdout"], data["stderr"]), changes(ended), notes)
    why = why_ended(ended.reason)
    if why is not None:
        error = f"Stopped by the sandbox: {why}"
        return _failed(command, data, error, _with(error, notes), code_of_end(ended.reason))
    note = exit_meaning(command, ended.code)
    status = f"Exit code: {ended.code}" + (f" ({note})" if note else "")
    if ended.orphans:
        left = "1 process" if ended.orphans == 1 else f"{ended.orphans} processes"
        status += f"\nAlso stopped: {left} that it left running; use background for these"
    if ended.code != 0:
        error = f"The command failed. Exit code: {ended.code}" + (f" ({note})" if note else "")
        return _failed(command, data, error, _with(status, notes), "exit_nonzero")
    text = text_of(data, _with(status, notes))
    return ToolResult.ok(data, text=text, raw_result=_raw(command, data))


def timed_out(
    command: str, transcript: Transcript, ended: ProcessExit | None, seconds: str, notes: str
) -> ToolResult:
    """Return the result of a command ended by its timeout."""
    data = _data(transcript, ended, None) | {"exit_code": None, "timed_out": True}
    data["reason"] = "timeout"
    error = f"Timed out after {seconds}: the command and all its processes were killed"
    found = hints(ended, data["stdout"], data["stderr"])
    notes = _lines(found, "" if ended is None else changes(ended), notes)
    return _failed(command, data, error, _with(error, notes), "timeout")


def goes_on(process: SessionProcess, transcript: Transcript, status: str) -> ToolResult:
    """Return the result of a command that now runs in the background."""
    data = _data(transcript, None, process.id)
    data |= {"running": True, "sandbox": process.sandbox.to_dict()}
    writes = "write to it " if process.request.spec.interactive else ""
    text = text_of(
        data,
        f"{status} as {process.id}. Use `process` to poll it, wait for it, {writes}or stop it.",
    )
    return ToolResult.ok(data, text=text, raw_result=_raw(process.request.command, data))


def changes(ended: ProcessExit) -> str:
    """Return notes on changed files that other programs run; empty if there are none."""
    notes = []
    if ended.undone:
        note = (
            "Restored, because other programs would run their content: "
            f"{_named(ended.undone)}. Change them with a file tool or a command that "
            "names them, such as git config, which requires approval"
        )
        if ended.put_aside:
            note += f". The written content is in {ended.put_aside}"
        notes.append(note)
    if ended.left:
        notes.append(
            "Changed files that git runs, which were not restored: "
            f"{_named(ended.left)}. Check them before you use git"
        )
    if ended.reported:
        notes.append(f"Changed files that other programs run: {_named(ended.reported)}")
    return "\n".join(notes)


def change_data(ended: ProcessExit) -> dict[str, Any]:
    """Return the same as data for programs."""
    found = {
        "undone": list(ended.undone),
        "changed_git": list(ended.left),
        "changed_protected": list(ended.reported),
        "put_aside": ended.put_aside,
    }
    return {name: value for name, value in found.items() if value}


def _named(paths: tuple[str, ...]) -> str:
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def text_of(data: dict[str, Any], status: str) -> str:
    """Return both streams and the status, shortened in the middle."""
    room = MAX_CHARS - _LABEL_ROOM
    out, err = data["stdout"].rstrip("\n"), data["stderr"].rstrip("\n")
    # Errors get at least a third, plus whatever standard output leaves.
    err = clip(err, max(room // 3, room - len(out)))
    out = clip(out, max(room // 3, room - len(err)))
    parts = [out] if out else []
    if err:
        parts.append(f"STDERR:\n{err}")
    return "\n".join([*parts, status])


def _data(
    transcript: Transcript, ended: ProcessExit | None, process_id: str | None
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "stdout": transcript.stdout,
        "stderr": transcript.stderr,
        "exit_code": None if ended is None else ended.code,
        "timed_out": ended is not None and ended.reason == "timeout",
        "truncated": transcript.truncated,
        "reason": None if ended is None else ended.reason,
        "sandbox": None if ended is None else ended.sandbox.to_dict(),
    }
    if ended is not None:
        data |= change_data(ended)
    return data if process_id is None else {**data, "process_id": process_id}


def _failed(command: str, data: dict[str, Any], error: str, status: str, code: str) -> ToolResult:
    text = text_of(data, status)
    return ToolResult.fail(error, code=code, data=data, text=text, raw_result=_raw(command, data))


def _raw(command: str, data: dict[str, Any]) -> RawResult:
    return RawResult("terminal", {"command": command, **data})


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _with(status: str, notes: str) -> str:
    return f"{status}\n{notes}" if notes else status


def exit_meaning(command: str, code: int) -> str | None:
    """Return a short explanation of a non-zero exit status, if known."""
    if code == 1:
        return _STATUS_ONE.get(_last_program(command) or "")
    return _EXIT_MEANINGS.get(code)


def _last_program(command: str) -> str | None:
    """Return the program whose status the shell reported; a guess, sufficient for a hint."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    program: str | None = None
    starts = True
    try:
        for token in lexer:
            if set(token) <= _SEPARATORS:
                starts = not set(token) & set("<>")
            elif starts and "=" not in token:
                program = token.rpartition("/")[2]
                starts = False
    except ValueError:
        return None
    return program


def hints(ended: ProcessExit | None, stdout: str, stderr: str) -> str:
    """Return one line for each missing permission; usually empty.

    Args:
        ended: exit of the command; None if it was stopped.
    """
    said = f"{stdout[-_LOOKED_AT:]}\n{stderr[-_LOOKED_AT:]}"
    failed = ended is None or ended.code != 0
    found = []
    if _lacked_network(ended, said, failed=failed):
        found.append(NO_NETWORK)
    if failed and _AUTHOR.search(said):
        found.append(NO_AUTHOR)
    return "\n".join(found)


def _lacked_network(ended: ProcessExit | None, said: str, *, failed: bool) -> bool:
    """Return whether the command failed because it had no network access.

    In a separate network the kernel counts attempts; otherwise the error messages decide.
    """
    if ended is not None and _OWN_NETWORK in ended.sandbox.layers:
        own = _MACHINES_NETWORK not in ended.sandbox.layers
        if own and not ended.sought_network:
            return False
        if own and failed:
            return True
    return _CUT_OFF.search(said) is not None
