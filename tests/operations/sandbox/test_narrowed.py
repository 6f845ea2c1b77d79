"""Commands and Python in a workspace that is narrowed to some folders."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import fill_folder
from tests.operations.sandbox.test_code import run
from tests.operations.sandbox.test_processes import output_of, shell

pytestmark = [
    pytest.mark.requirement("CTX-11"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="the sandbox is made of what only Linux has"
    ),
]
SECRET = "SECRET of b"


@pytest.fixture
async def narrowed(sandbox: Sandbox, root: Path) -> AsyncIterator[Operations]:
    fill_folder(root, {"a/x": "in a\n", "b/x": SECRET, "ab/x": SECRET, "top": SECRET, "c/x": "c\n"})
    async with SandboxedWorkspace(root, sandbox=sandbox, roots=("a", "c")) as workspace:
        yield workspace.operations


ATTACKS = (
    "cat ../b/x",
    "cat ../ab/x ../top",
    "cat {root}/b/x",
    "ln -s ../b/x link; cat link",
    "ln ../b/x hard; cat hard",
    "mv ../b/x here; cat here",
    "cp -r ../b here; cat here/x",
    "cd ../b && cat x",
    "cat /proc/self/cwd/../b/x /proc/$$/root{root}/b/x",
    "exec 3<../b/x; cat <&3",
    "grep -r SECRET ..",
    "find .. -type f -exec cat {{}} +",
    "tar c -C ../b . ",
    "cat > link.py <<< 'print(open(\"../b/x\").read())'; {python} -I link.py",
)


@pytest.mark.parametrize("script", ATTACKS)
async def test_no_command_reads_outside_of_the_roots(narrowed: Operations, root: Path, script: str):
    text = await output_of(narrowed, shell(script.format(root=root, python=sys.executable)))

    assert SECRET not in text
    assert (root / "b/x").read_text() == SECRET


@pytest.mark.parametrize(
    "script", ["echo mine > ../b/x", "rm ../b/x", "touch ../b/y", "mkdir ../d"]
)
async def test_no_command_writes_outside_of_the_roots(
    narrowed: Operations, root: Path, script: str
):
    await output_of(narrowed, shell(script))

    assert (root / "b/x").read_text() == SECRET
    assert [child.name for child in (root / "b").iterdir()] == ["x"]
    assert not (root / "d").exists()


async def test_a_command_starts_in_the_first_root_and_works_in_all_of_them(
    narrowed: Operations, root: Path
):
    script = "pwd; cat x ../c/x; echo new > ../c/new; mv x ../c/moved; cat $TMPDIR/../x"

    text = await output_of(narrowed, shell(script))

    assert text.splitlines()[:3] == [f"{root}/a", "in a", "c"]
    assert (root / "c/new").read_text() == "new\n"
    assert (root / "c/moved").read_text() == "in a\n"


@pytest.mark.parametrize("cwd", ["b", "a/../b", "..", "a/out", "/"])
async def test_a_working_folder_outside_of_the_roots_is_refused(
    narrowed: Operations, root: Path, cwd: str
):
    (root / "a/out").symlink_to("../b")
    with pytest.raises(OutsideWorkspace):
        await output_of(narrowed, shell("cat x", cwd=cwd))


async def test_lenient_python_is_held_to_the_roots_as_well(narrowed: Operations, root: Path):
    code = "\n".join(
        (
            "import os, subprocess",
            f"print(open({str(root / 'a/x')!r}).read())",
            f"open({str(root / 'c/made')!r}, 'w').write('made')",
            f"for path in ({str(root / 'b/x')!r}, {str(root / 'a')!r} + '/../top'):",
            "    try:",
            "        print(open(path).read())",
            "    except OSError as error:",
            "        print(type(error).__name__)",
            f"print(subprocess.run(['cat', {str(root / 'b/x')!r}], capture_output=True).stdout)",
        )
    )

    printed, _ = await run(narrowed, code, "lenient")

    assert printed.split() == ["in", "a", "PermissionError", "PermissionError", "b''"]
    assert (root / "c/made").read_text() == "made"


@pytest.mark.parametrize("target", ["b", "/"])
async def test_a_root_that_was_swapped_for_a_link_gives_a_command_nothing(
    narrowed: Operations, sandbox: Sandbox, root: Path, tmp_path: Path, target: str
):
    """Somebody else who may write in the workspace makes the root a link to something better."""
    (tmp_path / "outside").write_text(SECRET)
    (root / "a").rename(root / "moved")
    (root / "a").symlink_to(target)
    script = f"cat {root}/a/x {root}/b/x {tmp_path}/outside; echo mine > {tmp_path}/outside"

    try:
        text = await output_of(narrowed, shell(script, cwd="c"))
        printed, _ = await run(
            narrowed,
            f"import subprocess\nprint(subprocess.run(['sh', '-c', {script!r}], cwd='/',"
            " capture_output=True, text=True).stdout)",
            "lenient",
        )
    except ToolFailed:  # it is not even started
        text = printed = ""

    assert SECRET not in text + printed
    assert (tmp_path / "outside").read_text() == SECRET


async def test_each_narrowed_workspace_has_temporary_files_of_its_own(
    narrowed: Operations, sandbox: Sandbox, root: Path
):
    async with SandboxedWorkspace(root, sandbox=sandbox) as whole:
        text = await output_of(whole.operations, shell("cp b/x $TMPDIR/kept; echo $TMPDIR"))
        stolen = await output_of(narrowed, shell(f"cat {text.strip()}/kept; echo $TMPDIR"))

    assert SECRET not in stolen
    assert stolen.strip() != text.strip()


async def test_where_nothing_confines_files_no_command_runs_in_a_narrowed_workspace(
    root: Path, tmp_path: Path, sandbox: Sandbox
):
    fill_folder(root, {"a/x": "in a", "b/x": SECRET})
    real = sandbox.status
    levels = {
        name: replace(
            level, layers=tuple(one for one in level.layers if one != "landlock-fs"), asks=False
        )
        for name, level in real.levels.items()
    }
    config = SandboxConfig(temporary=tmp_path / "other")
    async with (
        Sandbox(config, status=replace(real, levels=levels)) as weak,
        SandboxedWorkspace(root, sandbox=weak, roots=("a",)) as workspace,
    ):
        with pytest.raises(ToolFailed, match="workspace_roots") as caught:
            await output_of(workspace.operations, shell("cat ../b/x"))
        assert caught.value.details["code"] == "sandbox_unavailable"
        with pytest.raises(ToolFailed, match="workspace_roots"):
            await run(workspace.operations, "1", "lenient")
