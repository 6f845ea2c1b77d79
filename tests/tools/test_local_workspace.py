"""The tools on real files and processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.operations.local.workspace import LocalWorkspace
from app.toolkit.context import ToolContext
from app.tools.files.edit_file import edit_file
from app.tools.files.list_dir import list_dir
from app.tools.files.read_file import read_file
from app.tools.files.write_file import write_file
from app.tools.search.find_files import find_files
from app.tools.search.grep import grep
from app.tools.shell.bash import bash
from tests.tools.calls import call, stream


@pytest.fixture
def local(tmp_path: Path) -> Iterator[ToolContext]:
    root = tmp_path / "ws"
    root.mkdir()
    with LocalWorkspace(root) as workspace:
        yield ToolContext(
            tool_call_id="call_1",
            operation_id="call_1",
            project_id="project_1",
            bound_operations=workspace.operations,
        )


@pytest.mark.requirement("FIL-07", "FIL-08", "FIL-10", "FIL-11")
async def test_a_file_is_written_found_searched_edited_and_read(local):
    await call(write_file, local, path="src/app.py", content="import os\nprint(os.sep)\n")
    found = await call(find_files, local, pattern="**/*.py")
    lines = await call(grep, local, pattern="print", output_mode="content")
    await call(edit_file, local, path="src/app.py", old_text="os.sep", new_text="os.name")
    read = await call(read_file, local, path="src/app.py")
    listed = await call(list_dir, local, path="src")
    assert found.data["files"] == ["src/app.py"]
    assert lines.for_model() == "src/app.py:2:print(os.sep)"
    assert read.data["content"] == "import os\nprint(os.name)\n"
    assert listed.data["total_files"] == 1


@pytest.mark.requirement("FIL-07")
@pytest.mark.parametrize("path", ["../secret", "link", "~root/../../secret"])
async def test_a_file_outside_is_out_of_reach(local, tmp_path, path):
    (tmp_path / "secret").write_text("token", encoding="utf-8")
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "secret")
    result = await call(read_file, local, path=path)
    assert result.success is False
    assert "token" not in result.for_model()


async def test_a_command_runs_in_the_workspace_and_sees_no_input(local):
    called = await stream(bash, local, "bash", command="printf 中; cat; echo no >&2; pwd")
    assert called.result.data["stdout"] == f"中{local.operations.root}\n"
    assert "".join(item.text for item in called.streamed if item.stream == "stderr") == "no\n"
    assert called.result.success


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("nosuchprogram", 127)]
)
async def test_the_status_of_a_failed_command_is_told(local, command, code):
    result = await call(bash, local, command=command)
    assert (result.code, result.data["exit_code"]) == ("exit_nonzero", code)


@pytest.mark.requirement("SHL-02")
async def test_a_timeout_ends_the_command_and_everything_it_started(local):
    command = "setsid sleep 600 & echo $!; (trap '' TERM; sleep 600) & echo $!; echo $$; wait"
    result = await call(bash, local, command=command, timeout=1)
    pids = [int(pid) for pid in result.data["stdout"].split()]
    assert result.code == "timeout"
    assert len(pids) == 3
    assert [pid for pid in pids if _runs(pid)] == []


def _runs(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2]
        return not state.startswith("Z")
    return False
