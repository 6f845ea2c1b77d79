"""`execute_skill`: runs the program of a skill in the sandbox."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename
from typing import Any

from pydantic import Field

from app.core.errors import InvalidArguments, InvalidInput, ToolFailed
from app.core.text import dump_json
from app.domain.skills import (
    INPUT_FOLDER,
    SKILL_FOLDER,
    SKILL_RUNS,
    SKILLS,
    WORK_FOLDER,
    ComputeEntry,
    Skill,
    SkillRuns,
    Skills,
    SkillViewer,
    SkillWorkspace,
    skills_of,
)
from app.operations.protocols.processes import ProcessChunk, ProcessLimits, ProcessSpec
from app.toolkit.context import Output, Progress, ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.code.artifacts import keep_files
from app.tools.code.output import Printed
from app.tools.skills.events import EventReader
from app.tools.skills.outcome import MAX_OUTPUT, SkillRun, failure_of, read_artifacts, result_of
from app.tools.skills.read_skill import SkillName
from app.tools.skills.returns import EXECUTE_SKILL_RESULT

MAX_TIMEOUT_S, MAX_PATH = 3600, 4096
_ENDING_S = 30
_MARGIN_S = 5.0

_PYTHON = ("python", "python3")
_OUTPUT_BYTES = 16 << 20
_MEMORY_BYTES = 1 << 30
_DISK_BYTES = 512 << 20
_BACKSTOP_S = 60

FORMAT = "workspace-path"
MAX_FILES = 50
MAX_FILE_BYTES = 50 << 20
MAX_TOTAL_BYTES = 100 << 20
MAX_ARGS_BYTES = 1 << 20


class ExecuteSkillArgs(ToolArgs):
    name: SkillName = Field(description="Name of the skill.")
    args: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the program; read_skill lists them."
    )
    timeout: int | None = Field(
        default=None,
        ge=1,
        le=MAX_TIMEOUT_S,
        description="Timeout in seconds; default: the skill's own.",
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="Digest of a version that no operator has enabled; requires a person's "
        "approval.",
    )


def confirmation_reason(args: ExecuteSkillArgs, services: Services) -> str | None:
    """Return why the call needs approval, or None.

    Without a digest only a trusted version runs, which needs no approval.
    """
    if args.digest is None:
        return None
    skills = services.get(SKILLS)
    if isinstance(skills, Skills) and skills.is_trusted(args.digest):
        return None
    return (
        f"it runs the program of the skill {args.name!r} in a version that no operator has"
        f" enabled ({args.digest[:12]})"
    )


def paths_in(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return all texts in the program's arguments, any of which may name a file of the
    workspace.
    """
    given = arguments.get("args")
    values = list(given.values()) if isinstance(given, Mapping) else []
    values += [item for value in values if isinstance(value, list) for item in value]
    return [value for value in values if isinstance(value, str) and 0 < len(value) <= MAX_PATH]


# Input files of a skill: copies of workspace files named in its arguments.
#
# An argument with the schema `format: workspace-path` names a file of the workspace, or a list of
# them. The program receives the path of a copy instead.


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments for the program, and files by their name in the input folder."""

    args: dict[str, Any]
    files: Mapping[str, bytes]


async def gather(schema: Mapping[str, Any], args: dict[str, Any], ctx: ToolContext) -> Inputs:
    """Read every file that the arguments name.

    Raises:
        InvalidInput: the arguments are too large.
        ToolFailed: a file is unreadable, or there are too many or too large ones.
        ProjectRequired: a file is named without a project.
    """
    if len(dump_json(args)) > MAX_ARGS_BYTES:
        raise InvalidInput(f"args must be at most {MAX_ARGS_BYTES} bytes of JSON", field="args")
    reader = _InputReader(ctx)
    changed = dict(args)
    properties = schema.get("properties", {})
    for name, value in args.items():
        about = properties.get(name)
        if not isinstance(about, dict):
            continue
        items = about.get("items")
        if about.get("format") == FORMAT and isinstance(value, str):
            changed[name] = await reader.read(value)
        elif isinstance(items, dict) and items.get("format") == FORMAT and isinstance(value, list):
            changed[name] = [await reader.read(str(path)) for path in value]
    return Inputs(changed, reader.files)


class _InputReader:
    """Counts files and bytes of one call."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._room = MAX_TOTAL_BYTES
        self.files: dict[str, bytes] = {}

    async def read(self, path: str) -> str:
        """Return the path of the copy, relative to the program's folder."""
        if len(self.files) == MAX_FILES:
            raise ToolFailed(f"args contain more than {MAX_FILES} files", code="too_many_files")
        limit = min(MAX_FILE_BYTES, self._room)
        data = await self._ctx.operations.files.read(path, max_bytes=limit)
        self._room -= len(data)
        # The number makes names unique; the rest of the name shows the type.
        kind = "".join(c if c.isalnum() or c in "._-" else "_" for c in basename(path))[-100:]
        name = f"{len(self.files)}-{kind}"
        self.files[name] = data
        return f"../{INPUT_FOLDER}/{name}"


@tool(
    category="skill",
    toolset="skills",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="execute",
    sandbox="bash",
    requires=(SKILLS, SKILL_RUNS),
    asks=confirmation_reason,
    paths_in=paths_in,
    routing_hint="main-process-proxy",
    timeout_s=MAX_TIMEOUT_S + _ENDING_S,
    tags=("skill", "execute"),
    argument_aliases={"skill": "name", "skill_name": "name", "arguments": "args", "input": "args"},
    return_schema=EXECUTE_SKILL_RESULT,
)
async def execute_skill(
    args: ExecuteSkillArgs, ctx: ToolContext
) -> AsyncIterator[Output | ToolResult]:
    """Run the program of a skill in a sandbox and wait for its result; call read_skill first.

    It has no network, and access only to workspace files named in its args. Returns the computed
    data and the created files; images are shown.
    """
    skill = await skills_of(ctx).load(args.name, SkillViewer.of(ctx))
    entry = _entry(skill, args)
    skills_of(ctx).check(entry.input_schema, args.args, "args")
    inputs = await gather(entry.input_schema, args.args, ctx)
    rooms = ctx.services.require(SKILL_RUNS, SkillRuns)  # type: ignore[type-abstract]
    seconds = _seconds(args, entry, ctx)
    reader, printed = EventReader(), Printed(MAX_OUTPUT)
    async with rooms.open(skill, inputs.files) as room:
        spec = specification(skill, entry, room, inputs.args, seconds)
        async with room.operations.processes.open(spec) as process:
            async for chunk in process.output():
                for output in await _seen(chunk, reader, printed, ctx):
                    yield output
            ended = await process.wait()
        for output in [*await _passed(reader.finish(), printed, ctx), *printed.finish()]:
            yield output
        run = SkillRun(skill, seconds, reader, printed, ended)
        failure = failure_of(run)
        if failure is None:
            made, failure = await read_artifacts(run, room)
    if failure is not None:
        yield result_of(run, [], failure)
        return
    yield result_of(run, await keep_files(made, ctx), _unfit(run, entry, ctx))


def _entry(skill: Skill, args: ExecuteSkillArgs) -> ComputeEntry:
    """Return the program that the skill runs.

    Raises:
        ToolFailed: `skill_not_runnable`; `skill_not_trusted` for a version neither enabled nor
            approved.
    """
    if skill.entry is None:
        raise ToolFailed(
            f"The skill {skill.name!r} has no program; read it with read_skill",
            code="skill_not_runnable",
        )
    if not skill.is_trusted and args.digest is None:
        raise ToolFailed(
            f"No operator has enabled this version of {skill.name!r}: run `tollgate "
            f"skills enable {skill.id}`, or pass digest {skill.digest!r} to request "
            "approval",
            code="skill_not_trusted",
            digest=skill.digest,
        )
    if args.digest is not None and args.digest != skill.digest:
        raise ToolFailed(
            f"The skill {skill.name!r} has changed; its version is now {skill.digest}: "
            "read it again",
            code="skill_changed",
            digest=skill.digest,
        )
    return skill.entry


def _seconds(args: ExecuteSkillArgs, entry: ComputeEntry, ctx: ToolContext) -> float:
    """Return the timeout, limited by the settings and the call."""
    most = skills_of(ctx).max_timeout_s
    if ctx.timeout_s is not None:
        most_of_call = ctx.timeout_s - min(_MARGIN_S, ctx.timeout_s / 4)
        return min(float(args.timeout or entry.timeout_s), float(most), most_of_call)
    return min(float(args.timeout or entry.timeout_s), float(most))


async def _seen(
    chunk: ProcessChunk, reader: EventReader, printed: Printed, ctx: ToolContext
) -> list[Output]:
    if chunk.stream == "stderr":
        return list(printed.add(chunk))
    return await _passed(reader.feed(chunk.data), printed, ctx)


async def _passed(
    items: list[Progress | bytes], printed: Printed, ctx: ToolContext
) -> list[Output]:
    """Report progress; return other lines as output."""
    outputs: list[Output] = []
    for item in items:
        if isinstance(item, bytes):
            outputs.extend(printed.add(ProcessChunk("stdout", item)))
        else:
            await ctx.report(item)
    return outputs


def _unfit(run: SkillRun, entry: ComputeEntry, ctx: ToolContext) -> tuple[str, str] | None:
    """Return code and sentence if the data violates the skill's own schema."""
    assert run.reader.result is not None
    try:
        skills_of(ctx).check(entry.output_schema, run.reader.result.data, "data")
    except InvalidArguments as error:
        return "skill_bad_output", f"The skill's result does not match its schema: {error.message}"
    return None


def specification(
    skill: Skill, entry: ComputeEntry, room: SkillWorkspace, args: dict[str, Any], seconds: float
) -> ProcessSpec:
    """Return the process specification of the skill's program, with arguments as JSON on standard
    input.

    Words of the command that name a file of the skill refer to the copy in the workspace. `python`
    is the interpreter of the service, so that it is always available.
    """
    skill_folder = f"{room.root}/{SKILL_FOLDER}"
    words = [
        f"{skill_folder}/{word.removeprefix('./')}"
        if word.removeprefix("./") in skill.files
        else word
        for word in entry.command
    ]
    if words[0] in _PYTHON:
        words[0] = sys.executable
    return ProcessSpec(
        argv=tuple(words),
        cwd=WORK_FOLDER,
        env={
            "SKILL_DIR": skill_folder,
            "SKILL_WORK_DIR": f"{room.root}/{WORK_FOLDER}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
        },
        stdin=dump_json(args),
        limits=ProcessLimits(
            wall_s=seconds,
            cpu_s=int(seconds) + _BACKSTOP_S,
            disk_bytes=_DISK_BYTES,
            memory_bytes=_MEMORY_BYTES,
            output_bytes=_OUTPUT_BYTES,
        ),
        network=False,
    )
