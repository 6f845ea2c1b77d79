"""`powershell` with something that stands in for `pwsh`, and without."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from app.operations.fakes.workspace import fake_workspace
from app.operations.protocols.processes import (
    ProcessChunk,
    ProcessExit,
    ProcessOperations,
    ProcessSpec,
    RunningProcess,
)
from app.tools.shell.powershell import powershell
from tests.tools.calls import call, call_as, stream


class Installed:
    """Starts `program` where `pwsh` is asked for."""

    def __init__(self, program: str, real: ProcessOperations) -> None:
        self._program = program
        self._real = real

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        assert spec.argv[0] == "pwsh"
        return self._real.open(replace(spec, argv=(self._program, *spec.argv[1:])))


ARGV = ("pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command")


@pytest.mark.requirement("SHL-03")
async def test_a_command_is_handed_to_pwsh_without_a_profile_and_streamed(ctx, tmp_path):
    started: list[ProcessSpec] = []

    def script(spec: ProcessSpec) -> tuple[list[ProcessChunk], ProcessExit]:
        started.append(spec)
        return [ProcessChunk("stdout", b"7.4\n")], ProcessExit(0)

    context = replace(ctx, bound_operations=fake_workspace(script=script))
    called = await stream(powershell, context, "powershell", command="$PSVersionTable")
    assert [spec.argv for spec in started] == [(*ARGV, "$PSVersionTable")]
    assert called.result.success
    assert called.result.data["stdout"] == "7.4\n"
    assert [piece.text for piece in called.streamed] == ["7.4\n"]


@pytest.mark.requirement("SHL-03")
async def test_a_real_program_of_that_name_is_started_and_ended_at_its_timeout(local, tmp_path):
    program = tmp_path / "bin" / "pwsh"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho "$@"; [ "$5" = hang ] && sleep 600; exit 4\n', encoding="utf-8"
    )
    program.chmod(0o755)
    operations = local.operations
    installed = Installed(str(program), operations.processes)
    context = replace(local, bound_operations=replace(operations, processes=installed))
    failed = await call(powershell, context, command="Get-Item x")
    hung = await call(powershell, context, command="hang", timeout=1)
    assert failed.data["stdout"] == "-NoLogo -NoProfile -NonInteractive -Command Get-Item x\n"
    assert (failed.code, failed.data["exit_code"]) == ("exit_nonzero", 4)
    assert hung.code == "timeout"


@pytest.mark.requirement("SHL-03")
@pytest.mark.parametrize(
    "command",
    [
        'Get-Item "a b" | % { $_.Name }; echo `n',
        "Write-Output '今天' # ü\nWrite-Output \"$env:HOME\"\t\\",
        "-EncodedCommand AAAA",
        "$(touch made); & 'x' > y && z",
    ],
)
async def test_a_command_reaches_the_program_as_one_argument_to_the_byte(local, tmp_path, command):
    program = tmp_path / "pwsh"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "print(*(os.fsencode(word).hex() for word in sys.argv[1:]))\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    operations = local.operations
    installed = Installed(str(program), operations.processes)
    context = replace(local, bound_operations=replace(operations, processes=installed))
    called = await call(powershell, context, command=command)
    assert [bytes.fromhex(word).decode() for word in called.data["stdout"].split()] == [
        *ARGV[1:],
        command,
    ]
    # Windows' encodings are no part of it: what the program writes is read as UTF-8.
    assert called.data["exit_code"] == 0


async def test_without_pwsh_the_error_names_it(ctx):
    result = await call_as("PowerShellTool", powershell, ctx, command="ls", timeout=120_000)
    assert (result.code, result.error) == ("program_not_found", "Program not found: 'pwsh'")


def test_it_is_judged_as_powershell_and_is_off_where_pwsh_is_not_installed():
    assert (powershell.shell, powershell.programs, powershell.sandbox) == (
        "powershell",
        ("pwsh",),
        "bash",
    )
