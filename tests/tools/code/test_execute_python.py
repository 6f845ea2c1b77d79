"""`execute_python` on scripted runs: what is asked for, streamed, kept and answered."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import InvalidArguments, StorageUnavailable
from app.operations.fakes.workspace import FakeCode, ScriptedRun
from app.operations.protocols.code import CodeExit, CodeSpec, ProducedFile
from app.operations.protocols.processes import DISK_FULL, ExitReason, ProcessChunk, ProcessExit
from app.operations.protocols.sandbox import SandboxReport
from app.toolkit.context import Output, ToolContext
from app.toolkit.ports import ARTIFACTS, CODE_OPERATIONS, CODE_RULES
from app.toolkit.services import Services
from app.tools.code.execute_python import ExecutePythonArgs, confirmation_reason, execute_python
from app.tools.code.modules import CodeRules, ExtraModules
from tests.tools.calls import call, stream
from tests.tools.code.conftest import Shelf

SANDBOX = SandboxReport("standard", ("rlimits", "seccomp"), (), "landlock")
PNG = b"\x89PNG\r\n\x1a\n...."


def bench(
    ctx: ToolContext, run: ScriptedRun | None = None, rules: CodeRules | None = None
) -> tuple[ToolContext, FakeCode, Shelf]:
    """A context in which code does what `run` says."""
    code = FakeCode((lambda _: run) if run else None)
    shelf = Shelf()
    services = Services(**{ARTIFACTS: shelf, CODE_RULES: rules or CodeRules()})
    operations = replace(ctx.operations, code=code)
    context = replace(ctx, bound_operations=operations, services=services, session_id="ses_1")
    return context, code, shelf


def ending(
    code: int = 0, reason: ExitReason = "exited", *, signal: int | None = None, **more: Any
) -> ScriptedRun:
    return ScriptedRun(ending=CodeExit(ProcessExit(code, signal, reason, SANDBOX), **more))


@pytest.mark.requirement("PYX-01", "PYX-02", "PYX-14")
async def test_what_it_prints_is_streamed_and_the_result_has_the_seeds_keys(ctx: ToolContext):
    chunks = (ProcessChunk("stdout", "hél".encode()), ProcessChunk("stderr", b"careful\n"))
    run = ScriptedRun(chunks, CodeExit(ProcessExit(0, sandbox=SANDBOX), value="[1, 2]"))
    context, code, _ = bench(ctx, run)
    called = await stream(execute_python, context, "execute_python", code="print('hél'); [1, 2]")
    assert code.specs == [CodeSpec("print('hél'); [1, 2]", "standard", 10)]
    assert called.streamed == [Output("hél", "stdout"), Output("careful\n", "stderr")]
    assert called.result.data == {
        "success": True,
        "output": "hél",
        "stderr": "careful\n",
        "value": "[1, 2]",
        "strictness": "standard",
        "timeout": 10,
        "exit_code": 0,
        "reason": "exited",
        "truncated": False,
        "files": [],
        "files_left_out": 0,
        "sandbox": SANDBOX.to_dict(),
    }
    assert called.result.for_model() == "hél\nSTDERR:\ncareful\nValue: [1, 2]"
    assert called.result.raw_result is not None
    assert called.result.raw_result.type == "terminal"


async def test_code_that_says_nothing_is_said_to_have_run(ctx: ToolContext):
    context, _, _ = bench(ctx)
    assert (await call(execute_python, context, code="x = 1")).for_model() == (
        "The code ran without output"
    )


async def test_a_character_that_never_became_whole_is_shown_as_such(ctx: ToolContext):
    run = ScriptedRun((ProcessChunk("stdout", b"a\xc3"), ProcessChunk("stderr", b"\xe2\x82")))
    context, _, _ = bench(ctx, run)
    called = await stream(execute_python, context, "execute_python", code="1")
    assert [output.text for output in called.streamed] == ["a", "�", "�"]


@pytest.mark.requirement("PYX-01", "PYX-02")
@pytest.mark.parametrize(("level", "seconds"), [("lenient", 30), ("standard", 10), ("strict", 5)])
async def test_each_level_gets_its_seconds(ctx: ToolContext, level: str, seconds: int):
    context, code, _ = bench(ctx)
    result = await call(execute_python, context, code="1", strictness=level)
    assert [(spec.level, spec.wall_s) for spec in code.specs] == [(level, seconds)]
    assert (result.data["strictness"], result.data["timeout"]) == (level, seconds)


@pytest.mark.requirement("PYX-01", "PYX-09")
async def test_the_level_of_a_call_that_names_none_is_a_setting(ctx: ToolContext):
    context, code, _ = bench(ctx, rules=CodeRules("strict"))
    await call(execute_python, context, code="1")
    assert code.specs[0].level == "strict"


@pytest.mark.requirement("PYX-01")
def test_another_level_is_an_error_that_lists_the_three():
    with pytest.raises(
        InvalidArguments, match=r"strictness must be one of .'lenient', 'standard', 'strict'"
    ):
        execute_python.validate(b'{"code": "1", "strictness": "loose"}')
    with pytest.raises(InvalidArguments, match="missing required code"):
        execute_python.validate(b"{}")


@pytest.mark.requirement("PYX-09", "PYX-10")
async def test_extra_modules_count_for_their_level_only(ctx: ToolContext):
    configured = ExtraModules()
    configured.register("strict", ["numpy"])
    context, code, _ = bench(ctx, rules=CodeRules("strict", configured, ExtraModules()))
    assert (await call(execute_python, context, code="import numpy")).success
    assert (await call(execute_python, context, code="import math")).success
    refused = await call(execute_python, context, code="import numpy", strictness="standard")
    assert [(spec.level, spec.modules) for spec in code.specs] == [
        ("strict", ("numpy",)),
        ("strict", ()),
    ]
    assert refused.code == "not_allowed"


@pytest.mark.requirement("PYX-06", "PYX-14")
async def test_what_the_level_forbids_is_refused_before_anything_is_started(ctx: ToolContext):
    context, code, _ = bench(ctx)
    result = await call(execute_python, context, code="x = 1\nimport os\nopen('f')")
    assert code.specs == []
    assert (result.success, result.code) == (False, "not_allowed")
    assert str(result.error).startswith(
        "Blocked imports: os. These modules are not allowed in 'standard' mode. "
        "Blocked functions: open. These functions are not allowed in 'standard' mode."
    )
    assert result.data == {
        "success": False,
        "error": result.error,
        "strictness": "standard",
        "problems": [
            {"kind": "import", "name": "os", "line": 2},
            {"kind": "function", "name": "open", "line": 3},
        ],
    }


@pytest.mark.requirement("PYX-14")
@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
async def test_a_syntax_error_starts_nothing(ctx: ToolContext, level: str):
    context, code, _ = bench(ctx)
    result = await call(execute_python, context, code="def f(:\n  pass", strictness=level)
    assert code.specs == []
    assert (result.success, result.code) == (False, "syntax_error")
    assert str(result.error).startswith("Syntax error in code: invalid syntax (line 1)")
    assert result.to_dict()["error"] == result.data["error"]


async def test_very_long_code_is_not_read_in_the_service(ctx: ToolContext):
    context, code, _ = bench(ctx)
    source = "a;" * 50_000 + "import os"
    await call(execute_python, context, code=source)
    assert [spec.code for spec in code.specs] == [source]
    with pytest.raises(InvalidArguments, match="at most 200000 characters"):
        execute_python.validate(json.dumps({"code": "a" * 200_001}).encode())


ENDINGS: dict[str, tuple[ScriptedRun, str, str]] = {
    "an exception": (
        ending(1, error="ZeroDivisionError: division by zero"),
        *("code_failed", "ZeroDivisionError: division by zero"),
    ),
    "a status": (ending(3), "code_failed", "The code exited with status 3"),
    "time": (
        ending(137, "timeout", signal=9),
        *("timeout", "Execution timeout (10s limit in 'standard' mode)"),
    ),
    "processor time": (
        ending(152, signal=signal.SIGXCPU),
        *("timeout", "Execution timeout (10s limit in 'standard' mode)"),
    ),
    "memory": (
        ending(137, "memory", signal=9),
        *("code_memory", "Memory limit exceeded ('standard' mode)"),
    ),
    "too little memory": (
        ending(1, error="MemoryError"),
        *("code_memory", "MemoryError (memory is limited in 'standard' mode)"),
    ),
    "a full disk": (
        ending(137, "disk_full", signal=9),
        *("disk_full", f"The code was stopped: {DISK_FULL}"),
    ),
    "output": (
        ending(137, "output", signal=9),
        *("code_output", "Output limit exceeded: it printed too much ('standard' mode)"),
    ),
    "a forbidden system call": (
        ending(159, signal=signal.SIGSYS),
        "code_failed",
        "The code was stopped by SIGSYS: it made a system call that 'standard' mode does not allow",
    ),
    "a crash": (
        ending(139, signal=signal.SIGSEGV),
        *("code_failed", "The code was stopped by SIGSEGV: the interpreter crashed"),
    ),
    "another signal": (
        ending(137, signal=signal.SIGKILL),
        *("code_failed", "The code was stopped by SIGKILL"),
    ),
    "a signal without a name": (
        ending(228, signal=100),
        *("code_failed", "The code was stopped by signal 100"),
    ),
    "nobody watching": (
        ending(137, "lost"),
        "code_lost",
        "The supervisor of the code was lost; run it again ('standard' mode)",
    ),
}


@pytest.mark.requirement("PYX-02", "PYX-14")
@pytest.mark.parametrize("name", ENDINGS)
async def test_a_bad_end_is_reported_in_a_sentence(ctx: ToolContext, name: str):
    run, code, error = ENDINGS[name]
    context, _, _ = bench(ctx, replace(run, chunks=(ProcessChunk("stdout", b"so far\n"),)))
    result = await call(execute_python, context, code="1")
    assert (result.success, result.code, result.error) == (False, code, error)
    assert (result.data["success"], result.data["error"]) == (False, error)
    assert result.data["output"] == "so far\n"
    assert result.data["sandbox"] == SANDBOX.to_dict()
    assert result.for_model() == f"so far\nFailed: {error}"


async def test_long_output_is_streamed_whole_and_shortened_for_the_model(ctx: ToolContext):
    run = ScriptedRun(
        (ProcessChunk("stdout", b"o" * 50_000), ProcessChunk("stderr", b"e" * 50_000)),
        CodeExit(ProcessExit(1), value="v" * 20_000, error="E" * 20_000),
    )
    context, _, _ = bench(ctx, run)
    called = await stream(execute_python, context, "execute_python", code="1")
    assert sum(len(output.text) for output in called.streamed) == 100_000
    assert called.result.data["truncated"] is True
    assert len(called.result.for_model()) < 18_000
    assert len(called.result.data["output"]) < 11_000
    assert len(str(called.result.error)) < 3_000


async def test_files_are_kept_and_images_shown(ctx: ToolContext):
    files = (ProducedFile("plot.png", PNG), ProducedFile("out/table.csv", b"a,b\n"))
    run = ending(files=files, files_left_out=2)
    context, _, shelf = bench(ctx, run)
    result = await call(execute_python, context, code="1", strictness="lenient")
    image = {"name": "plot.png", "media_type": "image/png", "size": 12, "artifact_id": "art_1"}
    table = {"name": "out/table.csv", "media_type": "text/csv", "size": 4, "artifact_id": "art_2"}
    assert result.data["files"] == [image, table]
    assert result.raw_result is not None
    drawn = result.raw_result.data
    assert (result.raw_result.type, drawn["images"]) == ("image", [image])
    assert (drawn["files"], drawn["stdout"]) == (result.data["files"], result.data["output"])
    assert drawn["sandbox"] == result.data["sandbox"]
    assert shelf.kept == {
        "art_1": ("plot.png", "image/png", PNG, "ses_1", "call_1"),
        "art_2": ("out/table.csv", "text/csv", b"a,b\n", "ses_1", "call_1"),
    }
    assert result.for_model() == (
        "File: plot.png (image/png, 12 bytes, artifact:art_1)\n"
        "File: out/table.csv (text/csv, 4 bytes, artifact:art_2)\n"
        "2 more files were omitted"
    )


async def test_the_bytes_decide_what_is_an_image_and_not_the_name(ctx: ToolContext):
    files = (
        ProducedFile("fake.png", b"<script>"),
        ProducedFile("x.svg", b"<svg/>"),
        ProducedFile("photo.txt", b"\xff\xd8\xff\xe0"),
        ProducedFile("w", b"RIFF\0\0\0\0WEBPVP8 "),
        ProducedFile("g", b"GIF89a"),
        ProducedFile("a\nb\ud800", b""),
    )
    context, _, shelf = bench(ctx, ending(files=files))
    await call(execute_python, context, code="1", strictness="lenient")
    assert [(name, kind) for name, kind, *_ in shelf.kept.values()] == [
        ("fake.png", "application/octet-stream"),
        ("x.svg", "application/octet-stream"),
        ("photo.txt", "image/jpeg"),
        ("w", "image/webp"),
        ("g", "image/gif"),
        ("a_b_", "application/octet-stream"),
    ]


async def test_files_that_cannot_be_kept_are_reported_and_the_result_stands(ctx: ToolContext):
    context, _, shelf = bench(ctx, ending(files=(ProducedFile("a.txt", b"x"),), value="1"))
    shelf.broken = StorageUnavailable("Cannot store the output: free disk space")
    full = await call(execute_python, context, code="1", strictness="lenient")
    alone = await call(
        execute_python, replace(context, session_id=None), code="1", strictness="lenient"
    )
    assert full.success is True
    assert full.for_model() == (
        "Value: 1\n"
        "File: a.txt (text/plain, 1 bytes, not saved: Cannot store the output: free disk space)"
    )
    assert alone.data["files"][0]["error"] == "the call has no session"


async def test_without_a_project_code_runs_where_the_installation_lets_it(ctx: ToolContext):
    code = FakeCode()
    without = replace(ctx, bound_operations=None, services=Services(**{CODE_OPERATIONS: code}))
    assert (await call(execute_python, without, code="1")).success
    assert len(code.specs) == 1
    nowhere = await call(execute_python, replace(without, services=Services()), code="1")
    assert (nowhere.code, nowhere.error) == (
        "project_required",
        "project_id is required for running code",
    )


def test_lenient_asks_also_where_it_is_the_default():
    services = Services(**{CODE_RULES: CodeRules("lenient")})
    args = ExecutePythonArgs(code="1")
    assert confirmation_reason(args, Services()) is None
    assert "'lenient' mode" in str(confirmation_reason(args, services))
    assert confirmation_reason(ExecutePythonArgs(code="1", strictness="strict"), services) is None
    assert (
        confirmation_reason(ExecutePythonArgs(code="1", strictness="lenient"), Services())
        is not None
    )


@pytest.mark.requirement("PYX-01")
def test_what_the_runtime_receives():
    assert execute_python.permission_class.value == "EXTERNAL"
    assert execute_python.is_streaming
    assert execute_python.toolset == "code"
    assert set(execute_python.parameters["properties"]) == {"code", "strictness"}
    assert execute_python.parameters["required"] == ["code"]
    assert len(execute_python.description) <= 400
