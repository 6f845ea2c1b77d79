"""The cache of a project: persistent, its own, and bounded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.sandbox.caches import ProjectCache
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspaces
from scripts.parts import SANDBOX
from tests.support.binaries import needs

pytestmark = [needs(SANDBOX), pytest.mark.requirement("WB-21")]


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(SandboxConfig(warm_workers=0, caches=tmp_path / "caches")) as made:
        yield made


def opened(sandbox: Sandbox, folder: Path, project: str, *roots: str) -> Operations:
    folder.mkdir(exist_ok=True)
    return SandboxedWorkspaces(sandbox).open(folder, project_id=project, roots=roots)


async def said(operations: Operations, script: str) -> str:
    spec = ProcessSpec(("bash", "-c", script))
    async with operations.processes.open(spec) as process:
        return b"".join([chunk.data async for chunk in process.output()]).decode()


async def test_what_a_command_leaves_is_there_in_another_session(sandbox: Sandbox, tmp_path: Path):
    one = opened(sandbox, tmp_path / "a", "a")
    await said(one, "echo kept > ~/.cache/file; echo gone > ~/other")
    again = opened(sandbox, tmp_path / "a", "a")
    assert await said(again, "cat ~/.cache/file ~/other 2>/dev/null") == "kept\n"
    assert (tmp_path / "caches/a/file").read_text() == "kept\n"


async def test_another_project_neither_sees_nor_writes_it(sandbox: Sandbox, tmp_path: Path):
    await said(opened(sandbox, tmp_path / "a", "a"), "echo kept > ~/.cache/file")
    script = (
        f"ls -A ~/.cache; cat {tmp_path}/caches/a/file; echo x > {tmp_path}/caches/a/file;"
        f" ls {tmp_path}/caches; true"
    )
    text = await said(opened(sandbox, tmp_path / "b", "b"), script)
    assert "kept" not in text
    assert "file" not in text.splitlines()
    assert (tmp_path / "caches/a/file").read_text() == "kept\n"


async def test_a_narrowed_workspace_has_none(sandbox: Sandbox, tmp_path: Path):
    (tmp_path / "a" / "part").mkdir(parents=True)
    narrowed = opened(sandbox, tmp_path / "a", "a", "part")
    await said(narrowed, "mkdir -p ~/.cache; echo x > ~/.cache/file")
    assert not (tmp_path / "caches/a").exists()


def replace(home: str, target: Path | None) -> None:
    """Put a link to `target` in the place of the cache, or a file."""
    place = Path(home, ".cache")
    place.rmdir()
    if target is None:
        place.write_text("")
    else:
        place.symlink_to(target)


@pytest.mark.parametrize("kind", ["link", "file"])
async def test_what_takes_the_place_of_the_cache_is_not_followed(
    kind: str, sandbox: Sandbox, tmp_path: Path
):
    outside = tmp_path / "a" / "outside"
    outside.mkdir(parents=True)
    operations = opened(sandbox, tmp_path / "a", "a")
    replace((await said(operations, "echo $HOME")).strip(), outside if kind == "link" else None)
    await said(operations, "echo x > ~/.cache/file; echo x > ~/.cache")
    assert list((tmp_path / "caches/a").iterdir()) == []


async def test_programs_run_from_the_cache(sandbox: Sandbox, tmp_path: Path):
    script = "printf '#!/bin/sh\\necho ran\\n' > ~/.cache/run; chmod +x ~/.cache/run; ~/.cache/run"
    assert await said(opened(sandbox, tmp_path / "a", "a"), script) == "ran\n"


def test_the_least_recently_used_files_go_above_the_limit(tmp_path: Path):
    cache = ProjectCache(tmp_path / "cache", 100_000)
    cache.ready()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stays").write_bytes(b"x" * 50_000)
    (tmp_path / "cache/link").symlink_to(outside)
    for number in range(10):
        folder = tmp_path / "cache" / str(number % 3)
        folder.mkdir(exist_ok=True)
        file = folder / f"f{number}"
        file.write_bytes(b"x" * 20_000)
        os.utime(file, (number, number))
    freed = cache.trim()
    left = sorted(path.name for path in (tmp_path / "cache").rglob("f*"))
    assert freed >= 120_000
    assert left == ["f7", "f8", "f9"]
    assert (outside / "stays").exists()
    assert cache.trim() == 0


def test_it_looks_once_much_was_written(tmp_path: Path):
    cache = ProjectCache(tmp_path / "cache", 1)
    assert not cache.is_due(60 << 20)
    assert cache.is_due(5 << 20)
    assert not cache.is_due(5 << 20)
