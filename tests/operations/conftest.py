from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from app.operations.fakes.workspace import fake_workspace
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace

Fill = Callable[..., Operations]


def fill_folder(root: Path, files: Mapping[str, bytes | str]) -> None:
    for name, content in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


def names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())


def open_descriptors() -> int:
    return len(names(Path("/proc/self/fd")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def local(root: Path) -> Iterator[Operations]:
    with LocalWorkspace(root) as workspace:
        yield workspace.operations


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    """Not started: that costs a process, which tests of files do without."""
    async with Sandbox(SandboxConfig(temporary=tmp_path / "private")) as opened:
        yield opened


@pytest.fixture
async def sandboxed(sandbox: Sandbox, root: Path) -> AsyncIterator[Operations]:
    async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
        yield workspace.operations


@pytest.fixture(params=["local", "sandboxed", "memory"])
async def fill(request: pytest.FixtureRequest, root: Path, sandbox: Sandbox) -> AsyncIterator[Fill]:
    """Build operations on a workspace with the given files, once per backend."""
    async with AsyncExitStack() as stack:

        def build(files: Mapping[str, bytes | str] | None = None) -> Operations:
            if request.param == "memory":
                return fake_workspace(files)
            fill_folder(root, files or {})
            if request.param == "local":
                return stack.enter_context(LocalWorkspace(root)).operations
            workspace = SandboxedWorkspace(root, sandbox=sandbox)
            stack.push_async_callback(workspace.close)
            return workspace.operations

        yield build
