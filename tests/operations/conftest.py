from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.operations.local.workspace import LocalWorkspace
from app.operations.memory.workspace import memory_workspace
from app.operations.protocols import Operations

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


@pytest.fixture(params=["local", "memory"])
def fill(request: pytest.FixtureRequest, root: Path) -> Iterator[Fill]:
    """Build operations on a workspace with the given files, once per backend."""
    with ExitStack() as stack:

        def build(files: Mapping[str, bytes | str] | None = None) -> Operations:
            if request.param == "memory":
                return memory_workspace(files)
            fill_folder(root, files or {})
            return stack.enter_context(LocalWorkspace(root)).operations

        yield build
