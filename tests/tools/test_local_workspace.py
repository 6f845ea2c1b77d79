"""The tools on real files."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.tools.calls import call


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
