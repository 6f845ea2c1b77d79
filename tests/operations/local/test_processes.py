"""Real processes: what they inherit, how their output flows, and that none is left."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.pipes import QUEUE_BYTES
from app.operations.local.processes import LocalProcesses
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import (
    ProcessExit,
    ProcessLimits,
    ProcessSpec,
    RunningProcess,
)
from tests.operations.conftest import names, open_descriptors


def shell(script: str, **spec) -> ProcessSpec:
    return ProcessSpec(("sh", "-c", script), **spec)


async def output_of(operations: Operations, spec: ProcessSpec) -> str:
    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        return b"".join([chunk.data async for chunk in process.output()]).decode()


def exists(pid: int) -> bool:
    """Also as a zombie."""
    return Path(f"/proc/{pid}").exists()


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


async def test_a_secret_of_the_service_is_not_inherited(
    local: Operations, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("API_KEY", "sk-secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("HOME", "/home/service")

    text = await output_of(local, ProcessSpec(("env",), env={"EXTRA": "1"}))

    variables = dict(line.split("=", 1) for line in text.splitlines())
    assert set(variables) - {"PWD", "SHLVL", "_"} == {
        *("PATH", "HOME", "LANG", "TERM", "TZ", "USER", "LOGNAME", "TOLLGATE_START", "EXTRA")
    }
    assert variables["HOME"] == str(root)


async def test_a_private_folder_becomes_home_and_tmp(root: Path, tmp_path: Path):
    with LocalWorkspace(root, private_tmp=tmp_path) as workspace:
        text = await output_of(workspace.operations, shell('echo "$HOME $TMPDIR"'))

    assert text == f"{tmp_path} {tmp_path}\n"


async def test_no_descriptor_and_no_input_are_inherited(local: Operations, root: Path):
    held = os.open(root, os.O_RDONLY)
    os.set_inheritable(held, True)
    text = await output_of(local, shell("readlink /proc/self/fd/0; ls /proc/$$/fd"))
    os.close(held)

    assert text.split() == ["/dev/null", "0", "1", "2"]


async def test_limits_hold_from_the_first_instruction(local: Operations):
    limits = ProcessLimits(cpu_s=7, file_bytes=512 * 4, memory_bytes=1 << 28, open_files=40)

    text = await output_of(local, shell("ulimit -t -f -n -c -d; ulimit -t", limits=limits))
    flags = await output_of(local, ProcessSpec(("cat", "/proc/self/limits"), limits=limits))

    rows = {line[:26].strip(): line[26:].split()[:2] for line in flags.splitlines()}
    assert text.split()[-1] == "7"
    assert rows["Max file size"] == ["2048", "2048"]
    assert rows["Max open files"] == ["40", "40"]
    assert rows["Max data size"] == [str(1 << 28)] * 2
    assert rows["Max core file size"] == ["0", "0"]


async def test_input_is_passed_whole_and_closed(local: Operations):
    data = b"line\n" * 100_000

    assert await output_of(local, ProcessSpec(("wc", "-c"), stdin=data)) == "500000\n"
    assert await output_of(local, ProcessSpec(("cat",), stdin=b"")) == ""
    assert await output_of(local, ProcessSpec(("true",), stdin=data)) == ""


async def test_arguments_are_never_shell_text(local: Operations, root: Path):
    text = await output_of(local, ProcessSpec(("printf", "%s|", "$(touch x)", "-n", "a b", "")))

    assert text == "$(touch x)|-n|a b||"
    assert names(root) == []


async def test_the_working_directory_and_relative_programs_are_inside(
    local: Operations, root: Path
):
    (root / "sub").mkdir()
    (root / "sub/-run").write_text("#!/bin/sh\npwd\n")
    (root / "sub/-run").chmod(0o755)
    (root / "plain").write_text("")

    assert await output_of(local, ProcessSpec(("./-run",), cwd="sub")) == f"{root}/sub\n"
    with pytest.raises(ToolFailed) as caught:
        await output_of(local, ProcessSpec(("./plain",)))
    assert caught.value.details["code"] == "permission_denied"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (ProcessSpec(()), "invalid_command"),
        (ProcessSpec(("",)), "invalid_command"),
        (ProcessSpec(("echo", "a\0b")), "invalid_command"),
        (ProcessSpec(("echo", "\ud800")), "invalid_command"),
        (ProcessSpec(("env",), env={"A=B": "x"}), "invalid_environment"),
        (ProcessSpec(("env",), env={"A": "x\0"}), "invalid_environment"),
        (ProcessSpec(("gone/program",)), "program_not_found"),
        (ProcessSpec(("echo", "x" * 3_000_000)), "argument_list_too_long"),
    ],
)
async def test_what_cannot_be_started_is_a_typed_error(
    local: Operations, spec: ProcessSpec, code: str
):
    before = open_descriptors()

    with pytest.raises(ToolFailed) as caught:
        await output_of(local, spec)

    assert caught.value.details["code"] == code
    assert open_descriptors() == before


async def test_a_signal_shows_in_the_exit(local: Operations):
    async with local.processes.open(shell("kill -9 $$")) as process:
        assert await process.wait() == ProcessExit(137, signal.SIGKILL)


async def test_a_flood_waits_for_its_reader(local: Operations):
    async with asyncio.timeout(60), local.processes.open(ProcessSpec(("yes",))) as process:
        output = process.output()
        await anext(output)
        blocked = asyncio.create_task(blocked_writing(process.pid))
        await blocked
        held = 0
        await process.kill()
        async for chunk in output:
            held += len(chunk.data)

    assert 0 < held <= QUEUE_BYTES + 3 * (64 << 10)


async def blocked_writing(pid: int) -> None:
    """Return once the process sleeps in a write to its full pipe."""
    while "pipe_write" not in (where := await asyncio.to_thread(waits_in, pid)):
        if where == "unknown":
            return
        await asyncio.sleep(0)


def waits_in(pid: int) -> str:
    try:
        name = Path(f"/proc/{pid}/wchan").read_text()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "unknown"
    return "pipe_write" if state == "S" and name in ("0", "") else name


async def test_a_flood_nobody_reads_is_discarded(local: Operations):
    async with asyncio.timeout(60), local.processes.open(shell("yes | head -c 5000000")) as process:
        assert await process.wait() == ProcessExit(0)


async def test_leaving_the_output_early_does_not_block_waiting(local: Operations):
    async with asyncio.timeout(60), local.processes.open(shell("yes | head -c 5000000")) as process:
        waiting = asyncio.create_task(process.wait())
        async for _ in process.output():
            break

        assert await waiting == ProcessExit(0)


async def test_all_output_before_the_end_arrives_though_a_child_holds_the_pipe(local: Operations):
    text = await output_of(local, shell("sleep 600 & seq 1 20000"))

    assert text.splitlines() == [str(number) for number in range(1, 20001)]


DAEMON = "sh -c 'setsid sh -c \"echo \\$\\$ >f; exec sleep 600\" &'"
DEAF = "sh -c 'trap \"\" TERM; echo $$ >f; while :; do sleep 600; done' &"
ESCAPES = {
    "background": "sleep 600 & echo $!",
    "setsid": "setsid sleep 600 & echo $!",
    "daemon": f"mkfifo f; {DAEMON}; read pid <f; echo $pid",
    "deaf": f"mkfifo f; {DEAF} read pid <f; echo $pid",
    "stopped": "sleep 600 & echo $!; kill -STOP $!",
}


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_of_the_tree_outlives_the_context(root: Path, script: str):
    beneath = Beneath(root)
    processes = LocalProcesses(beneath, term_grace_s=0.05)
    async with asyncio.timeout(60), processes.open(shell(script)) as process:
        output = [chunk.data async for chunk in process.output()]
        child = int(b"".join(output))
        assert alive(child)
    beneath.close()

    assert not alive(child)
    assert not exists(process.pid)


async def test_killing_ends_a_running_tree_and_its_forking_children(root: Path):
    script = "trap '' TERM; (while :; do sleep 600 & sleep 0.01; done) & echo ready; sleep 600"
    beneath = Beneath(root)
    processes = LocalProcesses(beneath, term_grace_s=0.05)

    async with asyncio.timeout(60), processes.open(shell(script)) as process:
        assert (await anext(process.output())).data == b"ready\n"
        await process.kill()
        ended = await process.wait()
        assert marked_processes(process) == []
    beneath.close()

    assert ended.signal == signal.SIGKILL


def marked_processes(process: RunningProcess) -> list[int]:
    """Living processes of the session that `process` led."""
    found = []
    for entry in names(Path("/proc")):
        if entry.isdecimal() and alive(int(entry)):
            try:
                if os.getsid(int(entry)) == process.pid:
                    found.append(int(entry))
            except ProcessLookupError:
                continue
    return found


@asynccontextmanager
async def cancelled_inside(operations: Operations) -> AsyncIterator[list[int]]:
    """Run a process in a task, cancel the task inside the context, and await its end."""
    started = asyncio.Event()
    pids: list[int] = []

    async def run() -> None:
        async with operations.processes.open(ProcessSpec(("sleep", "600"))) as process:
            pids.append(process.pid)
            started.set()
            await process.wait()

    task = asyncio.create_task(run())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    yield pids


async def test_cancelling_the_user_kills_and_reaps(local: Operations):
    async with asyncio.timeout(60), cancelled_inside(local) as pids:
        assert not exists(pids[0])


async def test_cancelling_a_start_leaves_nothing(local: Operations, root: Path):
    async def run() -> None:
        async with local.processes.open(shell("echo $$ > started; sleep 600")):
            pass

    before = open_descriptors()
    async with asyncio.timeout(60):
        task = asyncio.create_task(run())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert task.cancelled()
    assert open_descriptors() == before
    assert names(root) == []


async def test_no_descriptor_is_left_open(local: Operations):
    await output_of(local, ProcessSpec(("true",)))
    before = open_descriptors()

    await output_of(local, shell("sleep 600 & exit", stdin=b"x"))

    assert open_descriptors() == before
