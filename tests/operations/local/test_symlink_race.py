"""File tools while somebody swaps folders and files for links that lead outside.

The swapping runs in a process of its own, as fast as the kernel takes it. How long: ten
seconds in CI, or what `TOLLGATE_TEST_RACE_S` says.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.operations.local.beneath import (
    Beneath,
    Opener,
    best_opener,
    open_in_kernel,
    open_walking,
)
from app.operations.local.files import LocalFiles
from app.operations.local.processes import LocalProcesses
from app.operations.local.queue import WriteQueue
from app.operations.local.search import LocalSearch
from app.operations.local.workspace import NoCode
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext
from app.toolkit.tool import Tool
from app.tools.files.edit_file import edit_file
from app.tools.files.file_delete import file_delete
from app.tools.files.file_exists import file_exists
from app.tools.files.file_mkdir import file_mkdir
from app.tools.files.list_dir import list_dir
from app.tools.files.patch import patch
from app.tools.files.read_file import read_file
from app.tools.files.write_file import write_file
from app.tools.search.file_search import file_search
from app.tools.search.find_files import find_files
from app.tools.search.grep import grep
from scripts.parts import OPENAT2
from tests.support.binaries import in_ci, lacks
from tests.tools.calls import call

SECONDS = float(os.environ.get("TOLLGATE_TEST_RACE_S", "10" if in_ci() else "2"))
WORKERS = 4
SECRET = "a secret that lies outside"
OUTSIDE_NAME = "only-outside"

_SWAPPER = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
pairs = [(bytes(a, "utf-8"), bytes(b, "utf-8")) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]
parent, count = os.getppid(), 0
while count % 1000 or os.getppid() == parent:
    for first, second in pairs:
        if exchange(-100, first, -100, second, 2):
            sys.exit("cannot swap")
    count += 1
"""
Arguments = dict[str, Any]


@contextmanager
def swapped(*pairs: tuple[Path, Path]) -> Iterator[None]:
    """Exchange each pair for ever, until the block ends."""
    names = [str(path) for pair in pairs for path in pair]
    swapper = subprocess.Popen([sys.executable, "-I", "-S", "-c", _SWAPPER, *names])
    try:
        yield
        assert swapper.poll() is None, "the swapping had stopped by itself"
    finally:
        swapper.kill()
        swapper.wait()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "ws-evil"
    (folder / "sub").mkdir(parents=True)
    for name in ("f.txt", "sub/f.txt", f"{OUTSIDE_NAME}.txt", "doomed.txt"):
        (folder / name).write_text(SECRET)
    return folder


@pytest.fixture
def context(root: Path, opener: Opener) -> Iterator[ToolContext]:
    beneath = Beneath(root, opener)
    operations = Operations(
        root=beneath.root,
        files=LocalFiles(beneath, WriteQueue()),
        search=LocalSearch(beneath),
        processes=LocalProcesses(beneath),
        code=NoCode(),
    )
    yield ToolContext(
        tool_call_id="call_1",
        operation_id="call_1",
        project_id="project_1",
        bound_operations=operations,
    )
    beneath.close()


@pytest.fixture(params=[open_in_kernel, open_walking], ids=["openat2", "walking"])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    if chosen is open_in_kernel and best_opener() is not open_in_kernel:
        lacks(OPENAT2)
    return chosen


def state_of(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything there: mode, links, time of the last change of anything, content."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_nlink, status.st_ctime_ns, content)
    return found


def patch_of(path: str) -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n-inside\n+inside\n*** End Patch"


# Every way in, by a folder that is swapped, and by a file that is.
CALLS: tuple[tuple[Tool, Callable[[str], Arguments]], ...] = (
    (read_file, lambda path: {"path": path}),
    (read_file, lambda path: {"paths": [path, "d/sub/f.txt"]}),
    (write_file, lambda path: {"path": path, "content": "inside", "overwrite_changed": True}),
    (
        write_file,
        lambda path: {
            "path": path,
            "content": "\ninside",
            "mode": "append",
            "overwrite_changed": True,
        },
    ),
    (write_file, lambda path: {"path": f"{Path(path).parent}/new/deep.txt", "content": "x"}),
    (
        edit_file,
        lambda path: {
            "path": path,
            "old_text": "inside",
            "new_text": "inside",
            "replace_all": True,
            "overwrite_changed": True,
        },
    ),
    (patch, lambda path: {"patch": patch_of(path), "overwrite_changed": True}),
    (file_delete, lambda path: {"path": f"{Path(path).parent}/doomed.txt"}),
    (write_file, lambda path: {"path": f"{Path(path).parent}/doomed.txt", "content": "inside"}),
    (file_mkdir, lambda path: {"path": f"{Path(path).parent}/made/folder"}),
    (file_exists, lambda path: {"path": path}),
    (list_dir, lambda path: {"path": str(Path(path).parent), "recursive": True}),
    (list_dir, lambda path: {"path": ".", "recursive": True}),
    (grep, lambda path: {"pattern": ".", "path": str(Path(path).parent), "output_mode": "content"}),
    (find_files, lambda path: {"pattern": "**/*", "path": str(Path(path).parent)}),
    (file_search, lambda path: {"query": "secret", "path": str(Path(path).parent)}),
)
PATHS = ("d/f.txt", "f.txt", "d/sub/f.txt", "d/../d/f.txt", "./d//f.txt")


async def work(context: ToolContext, until: float, seen: Counter[str]) -> None:
    """Call one tool after another; whatever they say must not be from outside."""
    choice = random.Random(os.urandom(8))
    while time.monotonic() < until:
        tool, arguments = choice.choice(CALLS)
        result = await call(tool, context, **arguments(choice.choice(PATHS)))
        said = f"{result.for_model()} {result.data} {result.raw_result}"
        assert SECRET not in said, tool.name
        assert OUTSIDE_NAME not in said, tool.name
        seen["done" if result.success else str(result.code)] += 1


@pytest.mark.requirement("CTX-08", "B-16")
async def test_no_tool_leaves_the_workspace_while_links_are_swapped_in(
    context: ToolContext, root: Path, outside: Path
):
    (root / "d" / "sub").mkdir(parents=True)
    for name in ("f.txt", "d/f.txt", "d/sub/f.txt", "d/doomed.txt"):
        (root / name).write_text("inside")
    (root / "link").symlink_to(outside)
    (root / "up").symlink_to("../ws-evil/f.txt")
    before, seen = state_of(outside), Counter[str]()

    with swapped((root / "d", root / "link"), (root / "f.txt", root / "up")):
        until = time.monotonic() + SECONDS
        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(work(context, until, seen))

    assert state_of(outside) == before
    assert seen["done"], seen
    assert seen["outside_workspace"], seen


@pytest.mark.requirement("CTX-08")
async def test_operations_read_nothing_from_outside_while_links_are_swapped_in(
    context: ToolContext, root: Path, outside: Path
):
    operations: Operations = context.operations
    (root / "d").mkdir()
    (root / "d" / "f.txt").write_text("inside")
    (root / "link").symlink_to(outside)
    before, reported, refused = state_of(outside), set[bytes](), 0

    with swapped((root / "d", root / "link")):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for step in (operations.files.read("d/f.txt", max_bytes=99), _written(operations)):
                try:
                    reported.add(await step)
                except Exception as error:
                    if getattr(error, "code", "") not in _EXPECTED:
                        raise
                    refused += 1

    assert reported == {b"inside"}
    assert refused
    assert state_of(outside) == before


_EXPECTED = ("outside_workspace", "tool_failed")


async def _written(operations: Operations) -> bytes:
    after = (await operations.files.write("d/f.txt", b"inside")).after
    assert after is not None
    return after
