"""Results of skill runs."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import TollgateError
from app.core.text import dump_json
from app.domain.skills import WORK_FOLDER, Skill, SkillWorkspace
from app.operations.protocols.code import ProducedFile
from app.operations.protocols.processes import ProcessExit
from app.toolkit.result import RawResult, ToolResult
from app.tools.code.artifacts import KeptFile, shown
from app.tools.code.output import Printed
from app.tools.shell.results import code_of_end, why_ended
from app.tools.shell.transcript import clip
from app.tools.skills.events import EventReader

MAX_OUTPUT = 10_000
MAX_ARTIFACT_BYTES = 10 << 20
MAX_ARTIFACTS_BYTES = 30 << 20
_MAX_DATA = 30_000
_MAX_ERRORS = 3_000

Failure = tuple[str, str]
"""Error code and message."""


@dataclass(frozen=True, slots=True)
class SkillRun:
    """One ended run."""

    skill: Skill
    seconds: float
    reader: EventReader
    printed: Printed
    ended: ProcessExit


def failure_of(run: SkillRun) -> Failure | None:
    """Return why there is no usable result, or None."""
    ended, name = run.ended, run.skill.name
    if ended.reason == "timeout":
        return (
            "timeout",
            f"The skill {name!r} did not finish within {run.seconds:g} s and was stopped",
        )
    why = why_ended(ended.reason)
    if why is not None:
        return code_of_end(ended.reason), f"The skill {name!r} was stopped by the sandbox: {why}"
    if ended.signal is not None:
        return "skill_failed", f"The skill {name!r} was stopped by {_signal(ended.signal)}"
    if ended.code != 0:
        return "skill_failed", f"The skill {name!r} exited with status {ended.code}"
    if run.reader.problem is not None:
        return (
            "skill_bad_output",
            f"The skill {name!r} returned no usable result: {run.reader.problem}",
        )
    if run.reader.result is None:
        return "skill_bad_output", f"The skill {name!r} ended without a result event"
    return None


async def read_artifacts(
    run: SkillRun, room: SkillWorkspace
) -> tuple[list[ProducedFile], Failure | None]:
    """Return the files named in the result; none of them if one is unavailable.

    Only files in the workspace of the run are readable, regardless of links.
    """
    assert run.reader.result is not None
    files: list[ProducedFile] = []
    left = MAX_ARTIFACTS_BYTES
    work = f"{room.root}/{WORK_FOLDER}/"
    for path in run.reader.result.artifacts:
        inner = path.removeprefix(work)
        try:
            data = await room.operations.files.read(
                inner if inner.startswith("/") else f"{WORK_FOLDER}/{inner}",
                max_bytes=min(MAX_ARTIFACT_BYTES, left),
            )
        except TollgateError as error:
            message = error.message.replace(room.root, "")
            return [], ("skill_bad_output", f"Cannot store the artifact {path[:200]!r}: {message}")
        left -= len(data)
        files.append(ProducedFile(inner, data))
    return files, None


def result_of(run: SkillRun, files: Sequence[KeptFile], failure: Failure | None) -> ToolResult:
    """Return the tool's result."""
    result = run.reader.result
    data: dict[str, Any] = {
        "skill": run.skill.id,
        "digest": run.skill.digest,
        "data": None if result is None else result.data,
        "artifacts": [file.to_dict() for file in files],
        "progress_events": run.reader.reports,
        "progress_left_out": run.reader.left_out,
        "output": run.printed.text("stdout"),
        "stderr": run.printed.text("stderr"),
        "exit_code": run.ended.code,
        "reason": run.ended.reason,
        "sandbox": run.ended.sandbox.to_dict(),
    }
    if failure is not None:
        code, error = failure
        message = clip(data["stderr"] or data["output"], _MAX_ERRORS).strip()
        text = f"{error}\n{message}" if message else error
        return ToolResult.fail(error, code=code, data=data, text=text)
    text = "\n".join([clip(dump_json(data["data"]).decode(), _MAX_DATA), *map(str, files)])
    pictures = shown(files)
    raw = RawResult("json", data["data"]) if pictures is None else pictures
    return ToolResult.ok(data, text=text, raw_result=raw)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
