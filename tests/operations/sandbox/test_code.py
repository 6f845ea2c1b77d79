"""Python in the sandbox: warm workers, private folders, reports nobody trusts."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.operations.protocols.code import CodeExit, CodeSpec, ProducedFile, Strictness
from app.operations.protocols.operations import Operations
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.kernel_probe import Probe
from app.operations.sandbox.policies import WALL_S
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import open_descriptors
from tests.operations.sandbox.procs import alive, is_folder, marker, until_gone, with_marker
from tests.operations.sandbox.test_processes import confining

pytestmark = pytest.mark.requirement("OPS-04")
LEVELS: tuple[Strictness, ...] = ("lenient", "standard", "strict")
PURE: tuple[Strictness, ...] = ("standard", "strict")


async def run(operations: Operations, code: str, level: Strictness, **spec) -> tuple[str, CodeExit]:
    wanted = CodeSpec(code, level, spec.pop("wall_s", WALL_S[level]), **spec)
    async with asyncio.timeout(60), operations.code.open(wanted) as running:
        printed = b"".join([chunk.data async for chunk in running.output()])
        return printed.decode(), await running.wait()


@pytest.mark.parametrize("level", LEVELS)
async def test_each_level_tells_what_confined_it(
    sandboxed: Operations, sandbox: Sandbox, level: Strictness
):
    _, ended = await run(sandboxed, "1", level)

    assert ended.exit.sandbox.level == level
    assert set(ended.exit.sandbox.layers) == confining(sandbox, level)


@pytest.mark.parametrize("level", LEVELS)
async def test_an_exception_is_one_line_and_a_traceback(sandboxed: Operations, level: Strictness):
    printed, ended = await run(sandboxed, "def f():\n    return 1 / 0\nf()", level)

    assert ended.error == "ZeroDivisionError: division by zero"
    assert ended.value is None
    assert ended.exit.code != 0
    assert "line 2" in printed


@pytest.mark.parametrize("level", LEVELS)
async def test_the_wall_clock_ends_a_busy_loop(sandboxed: Operations, level: Strictness):
    _, ended = await run(sandboxed, "while True: pass", level, wall_s=0.5)

    assert ended.exit.reason == "timeout"


@pytest.mark.parametrize("level", PURE)
async def test_a_warm_worker_runs_the_code_and_is_replaced(
    sandboxed: Operations, sandbox: Sandbox, level: Strictness
):
    await sandbox.start()
    waiting = children_of_zygote(sandbox)
    spec = CodeSpec("print(1)", level, WALL_S[level])

    async with asyncio.timeout(60):
        async with sandboxed.code.open(spec) as running:
            await running.wait()
        await until_left(waiting, 1)
        await sandbox.start()
        replaced = children_of_zygote(sandbox)

    assert len(waiting) == len(replaced) == 2
    assert len({*waiting, *replaced}) == 3


async def until_left(pids: list[int], count: int) -> None:
    """Return when no more than `count` of them live; a supervisor ends after its tree."""
    while True:
        if sum(alive(pid) for pid in pids) <= count:
            return
        await asyncio.sleep(0)


def children_of_zygote(sandbox: Sandbox) -> list[int]:
    pid = sandbox.zygote.pid
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split() if alive(int(word))]


@pytest.mark.parametrize("level", PURE)
async def test_workers_that_died_while_they_waited_are_passed_over(
    sandboxed: Operations, sandbox: Sandbox, level: Strictness
):
    await sandbox.start()
    waiting = children_of_zygote(sandbox)
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        await until_gone(*waiting)
    await asyncio.sleep(0)

    printed, ended = await run(sandboxed, "print('alive')", level)

    assert (printed, ended.exit.reason) == ("alive\n", "exited")


async def test_a_warm_worker_takes_much_code(sandboxed: Operations, sandbox: Sandbox):
    await sandbox.start()
    code = f"text = '{'x' * 190_000}'\nlen(text)"

    assert (await run(sandboxed, code, "strict"))[1].value == "190000"


async def test_nothing_of_the_sandbox_is_left_when_it_is_closed(tmp_path: Path):
    before = open_descriptors()
    async with Sandbox(SandboxConfig(temporary=tmp_path, warm_workers=2)) as sandbox:
        await sandbox.start()
        pids = children_of_zygote(sandbox)

    assert len(pids) == 4
    assert open_descriptors() == before
    async with asyncio.timeout(60):
        await until_gone(*pids)


async def test_without_warm_workers_every_run_is_a_process_of_its_own(root: Path, tmp_path: Path):
    config = SandboxConfig(temporary=tmp_path / "private", warm_workers=0)
    async with (
        asyncio.timeout(60),
        Sandbox(config) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        _, ended = await run(workspace.operations, "6 * 7", "strict")
        await until_gone(*children_of_zygote(sandbox))

    assert ended.value == "42"


async def test_lenient_code_works_in_a_private_folder_and_its_files_come_back(
    sandboxed: Operations,
):
    code = """
import os, pathlib, tempfile
pathlib.Path("out").mkdir()
pathlib.Path("out/picture.png").write_bytes(b"png")
pathlib.Path("text.txt").write_text("some text")
tempfile.NamedTemporaryFile(delete=False)
print(os.getcwd())
"""
    printed, ended = await run(sandboxed, code, "lenient")

    assert ended.files == (
        ProducedFile("out/picture.png", b"png"),
        ProducedFile("text.txt", b"some text"),
    )
    assert not is_folder(printed.strip())


async def test_lenient_code_reaches_the_workspace_and_nothing_else(
    sandboxed: Operations, root: Path, tmp_path: Path
):
    (root / "data.csv").write_text("a,b\n")
    (tmp_path / "secret").write_text("s3cret")
    code = f"""
import os
print(open({str(root / "data.csv")!r}).read())
os.symlink({str(tmp_path / "secret")!r}, "link")
os.symlink({str(tmp_path)!r}, "folder")
for path in ({str(tmp_path / "secret")!r}, "link"):
    try:
        print(open(path).read())
    except OSError:
        print("refused")
"""
    printed, ended = await run(sandboxed, code, "lenient")

    assert printed.split() == ["a,b", "refused", "refused"]
    assert ended.files == ()


@pytest.mark.parametrize(
    "report",
    ["b'{'", "b'[' * 100000", "b'{\"value\": 3}'", "b'x' * (4 << 20)"],
    ids=["cut", "deep", "wrong type", "flood"],
)
async def test_a_forged_report_is_no_report(sandboxed: Operations, report: str):
    # the payload's own report goes to the only descriptor beyond the standard ones
    code = f"""
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
data = {report}
for number in range(3, 10):
    try:
        while data:
            data = data[os.write(number, data):]
    except OSError:
        pass
os._exit(0)
"""
    _, ended = await run(sandboxed, code, "lenient")

    assert (ended.value, ended.error) == (None, None)
    assert ended.exit.reason == "exited"


@pytest.mark.parametrize("level", PURE)
async def test_extra_modules_are_importable_where_they_are_asked_for(
    sandboxed: Operations, level: Strictness
):
    code = "import pathspec\npathspec.__name__"

    _, allowed = await run(sandboxed, code, level, modules=("pathspec",))
    _, refused = await run(sandboxed, code, level)

    assert allowed.value == "'pathspec'"
    assert refused.error is not None


async def test_a_flood_is_ended(sandboxed: Operations):
    code = "while True: print('x' * 1000)"
    async with asyncio.timeout(60), sandboxed.code.open(CodeSpec(code, "strict", 5)) as running:
        ended = await running.wait()

    assert ended.exit.reason in ("output", "timeout")


async def test_a_cancelled_run_leaves_no_process_and_no_folder(
    sandboxed: Operations, sandbox: Sandbox, tmp_path: Path
):
    mark = marker()
    code = f"import subprocess; print(1, flush=True); subprocess.run(['sleep', '{mark}'])"
    await run(sandboxed, "1", "lenient")
    before = open_descriptors()
    printed = asyncio.Event()

    async def use() -> None:
        async with sandboxed.code.open(CodeSpec(code, "lenient", 600)) as running:
            await anext(running.output())
            printed.set()
            await running.wait()

    async with asyncio.timeout(60):
        task = asyncio.create_task(use())
        await printed.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert task.cancelled()
    assert with_marker(mark) == []
    assert open_descriptors() == before
    assert list((tmp_path / "private").glob("*/*/work")) == []


@pytest.mark.parametrize(
    "spoil",
    [
        "import os; os.chmod('.', 0)",
        "import os; here = os.getcwd(); os.rename(here, here + 'x'); os.symlink('/etc', here)",
        "import os, shutil; shutil.rmtree(os.getcwd())",
    ],
)
async def test_a_folder_that_the_code_has_spoiled_is_no_error_of_ours(
    sandboxed: Operations, spoil: str
):
    _, ended = await run(sandboxed, spoil, "lenient")

    assert ended.files == ()


async def test_lenient_code_does_not_run_with_less_than_it_needs(tmp_path: Path, root: Path):
    weak = judge(Probe(frozenset(("rlimits", "no_new_privs", "seccomp"))), weaker="ask")
    assert weak.levels["lenient"].asks
    config = SandboxConfig(temporary=tmp_path / "weak", weaker="ask")
    async with (
        Sandbox(config, status=weak) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        with pytest.raises(ToolFailed, match="weaker sandbox"):
            await run(workspace.operations, "print(1)", "lenient")
