"""What a confined program gets, and what it does not."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessLimits, ProcessSpec
from app.operations.protocols.sandbox import Level
from app.operations.sandbox.config import Network, SandboxConfig
from app.operations.sandbox.kernel_probe import Probe
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.operations.sandbox.workspace import SandboxedWorkspace
from scripts.parts import ROOT_USER
from tests.operations.conftest import names, open_descriptors
from tests.operations.sandbox.procs import is_folder, marker, until_started, with_marker
from tests.support.binaries import needs
from tests.support.places import open_to_others

pytestmark = pytest.mark.requirement("OPS-04")


def shell(script: str, **spec) -> ProcessSpec:
    return ProcessSpec(("bash", "-c", script), **spec)


async def output_of(operations: Operations, spec: ProcessSpec) -> str:
    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        return b"".join([chunk.data async for chunk in process.output()]).decode()


async def test_the_workspace_is_writable_and_the_rest_is_not(
    sandboxed: Operations, root: Path, tmp_path: Path
):
    (tmp_path / "secret").write_text("s3cret")
    script = (
        f"echo in > inside; echo out > {tmp_path}/outside; cat {tmp_path}/secret; cat inside;"
        " echo tmp > $TMPDIR/file && echo tmp"
    )

    text = await output_of(sandboxed, shell(script))

    assert "s3cret" not in text
    assert text.splitlines()[-2:] == ["in", "tmp"]
    assert (root / "inside").read_text() == "in\n"
    assert not (tmp_path / "outside").exists()


def confining(sandbox: Sandbox, level: Level) -> set[str]:
    """The layers of a run without ports; a network of its own needs no limit of ports."""
    layers = set(sandbox.status.levels[level].layers)
    return layers - {"landlock-net"} if "namespaces" in layers else layers


async def test_every_exit_tells_what_confined_it(sandboxed: Operations, sandbox: Sandbox):
    async with sandboxed.processes.open(shell("true")) as process:
        report = (await process.wait()).sandbox

    assert report.level == "bash"
    assert set(report.layers) == confining(sandbox, "bash")
    assert report.kill in ("pidns", "landlock", "scan")


async def test_what_runs_tells_what_confines_it(sandboxed: Operations):
    spec = ProcessSpec(("cat",), interactive=True)
    async with sandboxed.processes.open(spec) as process:
        running = process.sandbox
        await process.close_input()
        ended = await process.wait()
    assert "seccomp" in running.layers
    assert replace(ended.sandbox, kill=None) == running


async def test_the_environment_is_a_safe_set_with_a_private_home(
    sandboxed: Operations, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("API_KEY", "sk-secret")

    text = await output_of(sandboxed, ProcessSpec(("env",), env={"EXTRA": "1"}))

    variables = dict(line.split("=", 1) for line in text.splitlines())
    assert set(variables) - {"PWD", "SHLVL", "_"} == {
        *("PATH", "HOME", "LANG", "TERM", "TZ", "USER", "LOGNAME", "TMPDIR", "EXTRA"),
        *("npm_config_fetch_retries", "PIP_RETRIES"),
    }
    assert variables["HOME"] == variables["TMPDIR"]


async def test_the_private_folder_is_kept_between_calls_and_removed_at_the_end(
    sandbox: Sandbox, root: Path
):
    async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
        folder = await output_of(workspace.operations, shell("echo kept > $HOME/f; echo -n $HOME"))
        again = await output_of(workspace.operations, shell("cat $HOME/f"))
        assert is_folder(folder)

    assert again == "kept\n"
    assert not is_folder(folder)


async def test_only_standard_descriptors_are_open_and_input_is_empty(sandboxed: Operations):
    script = (
        'for n in {0..9} {11..99}; do { true >&$n; } 2>/dev/null && echo -n "$n "; done;'
        " read -r line || echo end"
    )

    assert await output_of(sandboxed, shell(script)) == "0 1 2 end\n"


async def test_a_working_folder_that_is_swapped_for_a_link_is_not_followed(
    sandboxed: Operations, root: Path, tmp_path: Path
):
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")

    with pytest.raises(ToolFailed) as caught:
        await output_of(sandboxed, shell("pwd", cwd="link"))

    assert caught.value.code == "outside_workspace"


async def test_a_program_of_the_workspace_runs(sandboxed: Operations, root: Path):
    (root / "sub").mkdir()
    (root / "sub/run").write_text("#!/bin/sh\npwd\n")
    (root / "sub/run").chmod(0o755)

    assert await output_of(sandboxed, ProcessSpec(("./run",), cwd="sub")) == f"{root}/sub\n"


async def test_what_cannot_be_executed_ends_with_an_exit_code(sandboxed: Operations, root: Path):
    (root / "bad").write_bytes(b"\x7fELF nothing")
    (root / "bad").chmod(0o755)

    async with sandboxed.processes.open(ProcessSpec(("./bad",))) as process:
        ended = await process.wait()

    assert ended.code in (126, 127)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def connect_to(listener: socket.socket) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]} && echo connected"


async def test_the_network_is_closed_but_for_the_ports_of_the_workspace(
    sandbox: Sandbox, root: Path, listener: socket.socket
):
    network = Network((listener.getsockname()[1],))
    script = connect_to(listener)
    async with (
        SandboxedWorkspace(root, sandbox=sandbox) as closed,
        SandboxedWorkspace(root, sandbox=sandbox, network=network) as opened,
    ):
        assert "connected" not in await output_of(closed.operations, shell(script))
        assert "connected" in await output_of(opened.operations, shell(script))
        forbidden = shell(script, network=False)
        assert "connected" not in await output_of(opened.operations, forbidden)


async def test_nobody_can_connect_to_a_program_also_where_it_has_a_network(
    sandbox: Sandbox, root: Path
):
    # without a bind the kernel chooses the port, past Landlock
    listens = "import socket; s = socket.socket(); s.listen(); print('listens', s.getsockname())"
    spec = ProcessSpec(("python3", "-c", listens))
    async with SandboxedWorkspace(root, sandbox=sandbox, network=Network((443,))) as opened:
        text = await output_of(opened.operations, spec)

    assert "listens" not in text.replace(listens, "")
    assert "PermissionError" in text


async def test_no_workspace_is_let_at_the_port_of_the_service(
    sandbox: Sandbox, root: Path, listener: socket.socket
):
    port = listener.getsockname()[1]
    sandbox.keep_out(port)
    async with SandboxedWorkspace(root, sandbox=sandbox, network=Network((port, 443))) as opened:
        text = await output_of(opened.operations, shell(connect_to(listener)))

    assert "connected" not in text


@pytest.mark.parametrize(
    ("script", "limits", "reason"),
    [
        ("yes > /dev/null", ProcessLimits(wall_s=0.3), "timeout"),
        ("yes", ProcessLimits(output_bytes=1_000_000), "output"),
        (
            "head -c 300m /dev/zero | tail",
            ProcessLimits(memory_bytes=64 << 20, wall_s=20),
            "memory",
        ),
    ],
)
async def test_each_limit_has_its_reason(
    sandboxed: Operations, script: str, limits: ProcessLimits, reason: str
):
    spec = shell(script, limits=limits)
    async with asyncio.timeout(60), sandboxed.processes.open(spec) as process:
        ended = await process.wait()

    # a single process may also be refused its memory before the tree is over the limit
    assert ended.reason == reason or (reason == "memory" and ended.code != 0)


async def test_a_call_may_not_ask_for_more_than_the_administrator_allows(
    root: Path, tmp_path: Path
):
    config = SandboxConfig(temporary=tmp_path / "private", processes=4)
    spec = shell("for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait")
    async with (
        asyncio.timeout(60),
        Sandbox(config) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
        workspace.operations.processes.open(spec) as process,
    ):
        output = b"".join([chunk.data async for chunk in process.output()])
        ended = await process.wait()

    assert ended.reason == "processes" or b"fork" in output


async def test_what_the_administrator_allows_beyond_the_defaults_is_had(root: Path, tmp_path: Path):
    config = SandboxConfig(temporary=tmp_path / "private", processes=200)
    spec = shell("for i in $(seq 100); do sleep 600 & done; jobs -rp | wc -l; kill $(jobs -p)")
    async with (
        Sandbox(config) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        assert await output_of(workspace.operations, spec) == "100\n"


_THREADS = """
import threading
over = threading.Event()
begun = 0
try:
    for _ in range(100):
        threading.Thread(target=over.wait).start()
        begun += 1
except RuntimeError:
    pass
over.set()
print(begun)
"""


async def test_threads_count_as_processes_unless_a_caller_knows_better(sandboxed: Operations):
    argv = ("python3", "-c", _THREADS)
    begun = int(await output_of(sandboxed, ProcessSpec(argv)))
    assert begun < 64

    limits = ProcessLimits(tasks=200)
    assert await output_of(sandboxed, ProcessSpec(argv, limits=limits)) == "100\n"


async def test_a_program_that_comes_with_our_python_may_run(sandboxed: Operations):
    spec = ProcessSpec((sys.executable, "-c", "import pydantic; print('here')"))

    assert await output_of(sandboxed, spec) == "here\n"


async def test_a_level_that_is_off_says_why(root: Path, tmp_path: Path):
    lame = judge(Probe(frozenset(("rlimits", "no_new_privs", "seccomp"))))
    async with (
        Sandbox(SandboxConfig(temporary=tmp_path / "private"), status=lame) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        with pytest.raises(ToolFailed, match="cannot confine files") as caught:
            await output_of(workspace.operations, shell("true"))
        assert sandbox.zygote.pid is None

    assert caught.value.details["code"] == "sandbox_unavailable"
    assert names(tmp_path) == ["ws"]


async def test_a_layer_that_cannot_be_installed_runs_nothing(
    sandbox: Sandbox, root: Path, tmp_path: Path
):
    # asked to become another user without being told which
    bash = sandbox.status.levels["bash"]
    boast = replace(bash, layers=("uid-drop", *bash.layers))
    status = replace(sandbox.status, levels={**sandbox.status.levels, "bash": boast})
    before = open_descriptors()
    async with (
        Sandbox(SandboxConfig(temporary=tmp_path / "boast"), status=status) as boasting,
        SandboxedWorkspace(root, sandbox=boasting) as workspace,
    ):
        with pytest.raises(ToolFailed, match="Cannot set up the sandbox") as caught:
            await output_of(workspace.operations, shell("touch ran"))

    assert caught.value.details["code"] == "sandbox_unavailable"
    assert names(root) == []
    assert open_descriptors() == before


async def test_cancelling_at_any_moment_leaves_nothing(sandboxed: Operations, sandbox: Sandbox):
    await sandbox.start()
    mark = marker()

    async def use() -> None:
        async with sandboxed.processes.open(shell(f"sleep {mark} & sleep {mark}")) as process:
            await process.wait()

    await output_of(sandboxed, shell("true"))
    before = open_descriptors()
    for turns in range(60):
        task = asyncio.create_task(use())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert open_descriptors() == before

    assert with_marker(mark) == []


async def test_a_cancelled_user_kills_a_running_tree(sandboxed: Operations):
    mark = marker()

    async def use() -> None:
        script = f"trap '' TERM; setsid sleep {mark} & sleep {mark}"
        async with sandboxed.processes.open(shell(script)) as process:
            await process.wait()

    async with asyncio.timeout(60):
        task = asyncio.create_task(use())
        await until_started(mark, 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert with_marker(mark) == []


async def test_killing_asks_first(sandboxed: Operations, root: Path):
    script = "trap 'echo bye > said; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    async with asyncio.timeout(60), sandboxed.processes.open(shell(script)) as process:
        await anext(process.output())
        await process.kill()
        ended = await process.wait()

    assert (root / "said").read_text() == "bye\n"
    assert ended.reason == "killed"


async def test_descendants_that_are_left_are_counted_and_ended(sandboxed: Operations):
    mark = marker()
    script = f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.05"
    async with asyncio.timeout(60), sandboxed.processes.open(shell(script)) as process:
        ended = await process.wait()

    assert (ended.code, ended.reason, ended.orphans) == (0, "exited", 1)
    assert with_marker(mark) == []


@needs(ROOT_USER)
async def test_programs_run_as_the_separate_user(tmp_path: Path):
    place = tmp_path / "shared"
    place.mkdir()
    open_to_others(place)
    root = place / "ws"
    root.mkdir()
    os.chown(root, 65534, 65534)
    async with (
        Sandbox(SandboxConfig(temporary=place, uid=65534)) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        text = await output_of(workspace.operations, shell("touch mine; touch $HOME/f && id -u"))

    assert text == "65534\n"
    assert (root / "mine").stat().st_uid == 65534
    assert names(place) == ["ws"]


@needs(ROOT_USER)
async def test_the_separate_user_can_change_what_the_file_tools_made(tmp_path: Path):
    place = tmp_path / "shared"
    root = place / "ws"
    root.mkdir(parents=True)
    open_to_others(root)
    os.chown(root, 65534, 65534)
    async with (
        Sandbox(SandboxConfig(temporary=place, uid=65534)) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        await workspace.operations.files.write("a/made.txt", b"tool\n")
        await output_of(workspace.operations, shell("echo command >> a/made.txt; mv a b"))

    assert (root / "b/made.txt").read_text() == "tool\ncommand\n"


@pytest.mark.parametrize("whole", [False, True])
async def test_programs_start_after_somebody_tidied_up_the_private_folders(
    sandboxed: Operations, sandbox: Sandbox, tmp_path: Path, *, whole: bool
):
    first = await output_of(sandboxed, shell("echo $TMPDIR"))
    tmp = Path(first.strip())
    shutil.rmtree(tmp.parent if whole else tmp)

    second = await output_of(sandboxed, shell("echo x > $TMPDIR/file && echo $TMPDIR"))

    assert second.strip() not in ("", str(tmp))
    assert Path(second.strip()).is_relative_to(tmp_path / "private")
    await sandbox.close()
    assert names(tmp_path / "private") == []
