"""Folders outside the workspace that a program may only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.sandbox.test_processes import output_of


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "file").write_text("beside\n")
    program = folder / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    return folder


def reading(script: str, *folders: Path) -> ProcessSpec:
    return ProcessSpec(("bash", "-c", script), readable=tuple(map(str, folders)))


async def test_it_is_read_and_neither_written_nor_run(sandboxed: Operations, beside: Path):
    script = (
        f"cat {beside}/file; echo x > {beside}/file; rm {beside}/file; touch {beside}/new;"
        f" {beside}/program; echo in > inside && cat inside"
    )

    text = await output_of(sandboxed, reading(script, beside))
    without = await output_of(sandboxed, reading(f"cat {beside}/file"))

    said = [line for line in text.splitlines() if ":" not in line]
    assert said == ["beside", "in"]
    assert (beside / "file").read_text() == "beside\n"
    assert not (beside / "new").exists()
    assert "beside\n" not in without.splitlines(keepends=True)


async def test_one_that_is_a_link_is_not_followed(
    sandboxed: Operations, beside: Path, tmp_path: Path
):
    (tmp_path / "link").symlink_to(beside)

    text = await output_of(sandboxed, reading(f"cat {beside}/file", tmp_path / "link"))

    assert "Permission denied" in text or "No such file" in text


async def test_a_folder_of_the_service_in_it_is_hidden_or_nothing_starts(root: Path, beside: Path):
    (beside / "data").mkdir()
    (beside / "data" / "tollgate.db").write_text("s3cret")
    config = SandboxConfig(hidden=(str(beside / "data"),))
    spec = reading(f"cat {beside}/file {beside}/data/tollgate.db", beside)
    async with (
        Sandbox(config) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        if "namespaces" not in (await sandbox.level("bash")).layers:
            with pytest.raises(ToolFailed, match="cannot be hidden"):
                await output_of(workspace.operations, spec)
            return
        text = await output_of(workspace.operations, spec)

    assert "beside" in text
    assert "s3cret" not in text
