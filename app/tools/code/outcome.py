"""Results of ended code."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from typing import Any

from app.operations.protocols.code import CodeExit, Strictness
from app.operations.protocols.processes import DISK_FULL, ExitReason
from app.toolkit.result import RawResult, ToolResult
from app.tools.code.artifacts import KeptFile, shown
from app.tools.code.output import Printed
from app.tools.shell.results import change_data, changes
from app.tools.shell.transcript import clip

MAX_CHARS = 10_000
_MAX_VALUE = 4_000
_MAX_ERROR = 2_000
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_INSTALLED = (
    "Code can use the packages installed in the service's environment: the operator "
    "must install it (pip install {package}) and, for standard and strict, list it in "
    "code_execution.extra_allowed_modules"
)
_NO_NETWORK = (
    "Code has no network access: web_fetch reads pages, and bash can use the project's ports"
)
_LABEL_ROOM = 600

_LIMITS: dict[ExitReason, tuple[str, str]] = {
    "memory": ("code_memory", "Memory limit exceeded"),
    "disk": ("code_disk", "Disk limit exceeded: it wrote too much"),
    "files": ("code_files", "File limit exceeded: it created too many files"),
    "processes": ("code_processes", "Process limit exceeded: it started too many processes"),
    "output": ("code_output", "Output limit exceeded: it printed too much"),
    "killed": ("code_killed", "The code was stopped"),
    "lost": ("code_lost", "The supervisor of the code was lost; run it again"),
}


def result_of(
    code: str,
    level: Strictness,
    seconds: int,
    printed: Printed,
    ended: CodeExit,
    files: Sequence[KeptFile],
) -> ToolResult:
    """Return the result of started code."""
    failure = failure_of(ended, level, seconds)
    data: dict[str, Any] = {
        "success": failure is None,
        "output": printed.text("stdout"),
        "stderr": printed.text("stderr"),
        "value": ended.value,
        "strictness": level,
        "timeout": seconds,
        "exit_code": ended.exit.code,
        "reason": ended.exit.reason,
        "truncated": printed.truncated,
        "files": [file.to_dict() for file in files],
        "files_left_out": ended.files_left_out,
        "sandbox": ended.exit.sandbox.to_dict(),
    }
    data |= change_data(ended.exit)
    if failure is not None:
        data["error"] = failure[1]
    notes = changes(ended.exit)
    text = _text(data, files, failure[1] if failure else None) + (f"\n{notes}" if notes else "")
    raw_result = RawResult("terminal", _transcript(code, data))
    pictures = shown(files)
    if pictures is not None:
        raw_result = RawResult("image", {**raw_result.data, **pictures.data})
    if failure is None:
        return ToolResult.ok(data, text=text, raw_result=raw_result)
    return ToolResult.fail(failure[1], code=failure[0], data=data, text=text, raw_result=raw_result)


def failure_of(ended: CodeExit, level: Strictness, seconds: int) -> tuple[str, str] | None:
    """Return code and sentence of a failure; None on success."""
    exit_, mode = ended.exit, f"'{level}' mode"
    if exit_.reason == "timeout" or exit_.signal == signal.SIGXCPU:
        return "timeout", f"Execution timeout ({seconds}s limit in {mode})"
    if exit_.reason == "disk_full":
        return "disk_full", f"The code was stopped: {DISK_FULL}"
    if exit_.reason != "exited":
        code, sentence = _LIMITS[exit_.reason]
        return code, f"{sentence} ({mode})"
    if exit_.signal is not None:
        return "code_failed", f"The code was stopped by {_signal(exit_.signal, mode)}"
    if exit_.code == 0:
        return None
    if ended.error is None:
        return "code_failed", f"The code exited with status {exit_.code}"
    error = clip(ended.error, _MAX_ERROR)
    if (absent := _ABSENT.match(error)) is not None:
        return "code_failed", f"{error}. {_INSTALLED.format(package=absent[1])}"
    if error.startswith("MemoryError"):
        return "code_memory", f"{error} (memory is limited in {mode})"
    if exit_.sought_network:
        return "code_failed", f"{error}. {_NO_NETWORK}"
    return "code_failed", error


def _signal(number: int, mode: str) -> str:
    if number == signal.SIGSYS:
        return f"SIGSYS: it made a system call that {mode} does not allow"
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    crashed = number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL)
    return f"{name}: the interpreter crashed" if crashed else name


def _text(data: dict[str, Any], files: Sequence[KeptFile], failure: str | None) -> str:
    """Return the text for the model: output, errors, the value, files and the exit."""
    room = MAX_CHARS - _LABEL_ROOM
    out, err = data["output"].rstrip("\n"), data["stderr"].rstrip("\n")
    # Errors get at least a third, plus whatever the output leaves.
    err = clip(err, max(room // 3, room - len(out)))
    out = clip(out, max(room // 3, room - len(err)))
    parts = [out] if out else []
    if err:
        parts.append(f"STDERR:\n{err}")
    if data["value"] is not None:
        parts.append(f"Value: {clip(data['value'], _MAX_VALUE)}")
    parts += [str(file) for file in files]
    if data["files_left_out"]:
        parts.append(f"{data['files_left_out']} more files were omitted")
    if failure is not None:
        parts.append(f"Failed: {failure}")
    return "\n".join(parts) or "The code ran without output"


def _transcript(code: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data in the form of `bash`, for the same renderer, with the files it created."""
    return {
        "command": clip(code, MAX_CHARS),
        "stdout": data["output"],
        "stderr": data["stderr"],
        "exit_code": data["exit_code"],
        "timed_out": data["reason"] == "timeout",
        "truncated": data["truncated"],
        "reason": data["reason"],
        "value": data["value"],
        "files": data["files"],
        "sandbox": data["sandbox"],
    }
