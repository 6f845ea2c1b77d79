"""The zygote: clean, started again when it dies, gone with the service."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import StorageUnavailable, ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.sandbox.jail_programs import inside, inside_environment
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.zygote import Zygote
from tests.operations.conftest import open_descriptors
from tests.operations.sandbox.procs import (
    alive,
    environment,
    is_folder,
    marker,
    niceness,
    open_files,
    parent,
    share_of,
    until_gone,
    until_started,
    with_marker,
)


def shell(script: str) -> ProcessSpec:
    return ProcessSpec(("sh", "-c", script))


async def run(operations: Operations, script: str) -> int:
    async with asyncio.timeout(60), operations.processes.open(shell(script)) as process:
        return (await process.wait()).code


def living_pid(zygote: Zygote) -> int:
    assert zygote.pid is not None
    return zygote.pid


async def start_and_kill_for_ever(zygote: Zygote) -> None:
    while True:
        await zygote.start()
        pid = living_pid(zygote)
        os.kill(pid, signal.SIGKILL)
        while zygote.pid == pid:  # noqa: ASYNC110 - what changes is in another process
            await asyncio.sleep(0)


async def test_it_holds_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    held = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(held, True)
    zygote = Zygote()

    await zygote.start()
    pid = living_pid(zygote)
    targets = open_files(pid)

    assert set(environment(pid)) == {"PATH", "LANG", "TZ"}
    assert str(tmp_path) not in targets
    assert targets[-1] == "/"
    os.close(held)
    await zygote.close()


def test_a_zygote_whose_service_has_ended_meanwhile_ends_without_a_word():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    with theirs:
        done = subprocess.run(
            inside("zygote", str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            env=inside_environment(),
            cwd="/",
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


async def test_closing_leaves_no_process_and_no_descriptor():
    before = open_descriptors()
    zygote = Zygote()
    await zygote.start()
    pid = living_pid(zygote)

    await zygote.close()

    assert not is_folder(f"/proc/{pid}")
    assert open_descriptors() == before
    with pytest.raises(ToolFailed, match="the service is stopping"):
        await zygote.start()


async def test_a_killed_zygote_is_replaced_with_the_next_job(
    sandboxed: Operations, sandbox: Sandbox
):
    assert await run(sandboxed, "exit 3") == 3
    first = living_pid(sandbox.zygote)

    os.kill(first, signal.SIGKILL)
    await until_gone(first)

    assert await run(sandboxed, "exit 4") == 4
    assert living_pid(sandbox.zygote) != first


async def test_what_runs_is_nice_together_also_where_the_kernel_shares_by_sessions(
    sandboxed: Operations, sandbox: Sandbox
):
    mark = marker()
    async with asyncio.timeout(60), sandboxed.processes.open(shell(f"sleep {mark} & wait")):
        running = await until_started(mark, 2)
        zygote = living_pid(sandbox.zygote)

        most = min(19, niceness(os.getpid()) + 10)
        assert {niceness(pid) for pid in running} == {most}
        assert {share_of(pid) for pid in running} == {share_of(zygote)}
        assert share_of(zygote) != share_of(os.getpid())
        assert share_of(zygote)[1] in ("", "nice 5")


async def test_a_zygote_that_keeps_dying_makes_jobs_fail_for_a_while():
    zygote = Zygote()
    async with asyncio.timeout(60):
        with pytest.raises(ToolFailed, match="in a row") as caught:
            await start_and_kill_for_ever(zygote)
        await zygote.close()

    assert caught.value.details["code"] == "sandbox_unavailable"


async def test_a_zygote_that_cannot_be_started_is_a_typed_error(
    monkeypatch: pytest.MonkeyPatch,
):
    before = open_descriptors()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    zygote = Zygote()

    with pytest.raises(ToolFailed, match="Cannot start the sandbox") as caught:
        await zygote.start()

    assert caught.value.details["code"] == "sandbox_unavailable"
    await zygote.close()
    assert open_descriptors() == before


async def test_descriptors_that_run_out_are_a_typed_error(sandboxed: Operations):
    assert await run(sandboxed, "true") == 0
    before = open_descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused: list[str] = []
    for room in range(1, 16):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + room, hard))
        try:
            await run(sandboxed, "true")
        except StorageUnavailable as error:
            refused.append(error.message)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert refused
    assert all("open files" in message for message in refused)
    assert open_descriptors() == before
    assert await run(sandboxed, "exit 7") == 7


async def test_a_run_outlives_its_zygote_and_can_still_be_ended(
    sandboxed: Operations, sandbox: Sandbox
):
    mark = marker()
    async with asyncio.timeout(60):
        async with sandboxed.processes.open(shell(f"sleep {mark} & sleep {mark}")) as process:
            await until_started(mark, 2)
            os.kill(living_pid(sandbox.zygote), signal.SIGKILL)
            await process.kill()
            ended = await process.wait()

    assert ended.reason in ("killed", "lost")
    assert with_marker(mark) == []


async def test_a_killed_supervisor_is_a_lost_run_and_leaves_nothing(
    sandboxed: Operations, sandbox: Sandbox
):
    mark = marker()
    script = f"setsid sleep {mark} & sleep {mark}"
    async with asyncio.timeout(60):
        async with sandboxed.processes.open(shell(script)) as process:
            pids = await until_started(mark, 2)
            os.kill(_supervisor(pids[0], living_pid(sandbox.zygote)), signal.SIGKILL)
            ended = await process.wait()
            await until_gone(mark=mark)

    assert ended.reason == "lost"
    assert ended.sandbox.level == "bash"


def _supervisor(pid: int, zygote: int) -> int:
    """The ancestor of `pid` that the zygote forked."""
    while parent(pid) != zygote:
        pid = parent(pid)
    return pid


SERVICE = """
import asyncio, os, sys
from pathlib import Path
from app.operations.protocols.code import CodeSpec
from app.operations.protocols.processes import ProcessSpec
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.jail_programs import inside, inside_environment
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace

async def main(root, mark):
    sandbox = Sandbox(SandboxConfig(temporary=root / "private"))
    await sandbox.start()
    operations = SandboxedWorkspace(root, sandbox=sandbox).operations
    script = f"setsid sleep {mark} & sleep {mark}"
    code = f"import subprocess; subprocess.run(['sleep', '{mark}'])"
    async with (
        operations.processes.open(ProcessSpec(("bash", "-c", script))) as process,
        operations.code.open(CodeSpec(code, "lenient", 600)),
    ):
        print(sandbox.zygote.pid, flush=True)
        await process.wait()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def start_service(root: Path, mark: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", SERVICE, str(root), mark]
    return subprocess.Popen(words, cwd=Path.cwd(), stdout=subprocess.PIPE)


async def test_nothing_is_left_of_a_service_that_was_killed(tmp_path: Path):
    mark = marker()
    service = start_service(tmp_path, mark)
    try:
        assert service.stdout is not None
        zygote = int(await asyncio.to_thread(service.stdout.readline))
        service.stdout.close()
        async with asyncio.timeout(60):
            # the interpreter of the service holds the mark as well
            await until_started(mark, 5)
    finally:
        service.kill()
        service.wait()

    async with asyncio.timeout(60):
        await until_gone(zygote, mark=mark)
    assert not alive(zygote)
