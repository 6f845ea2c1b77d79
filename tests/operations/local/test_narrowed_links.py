"""Links that lead from a folder that is allowed to one that is not, also made on the way."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.core.errors import ConfigurationError, OutsideWorkspace, ToolFailed
from app.operations.local.beneath import (
    Beneath,
    Opener,
    best_opener,
    open_in_kernel,
    open_walking,
)
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.local.search import LocalSearch
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.processes import ProcessSpec
from app.operations.protocols.search import FindQuery, GrepQuery
from scripts.parts import OPENAT2
from tests.operations.conftest import fill_folder, open_descriptors
from tests.support.binaries import lacks

pytestmark = pytest.mark.requirement("CTX-11")
SECRET = "SECRET of b"
TRIES = 400

_SWAPPER = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
first, second, parent = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), os.getppid()
print("on", flush=True)
while os.getppid() == parent:
    for _ in range(1000):
        if exchange(-100, first, -100, second, 2):
            sys.exit("cannot swap")
"""


@contextmanager
def swapped(first: Path, second: Path) -> Iterator[None]:
    """Exchange the two for ever, until the block ends."""
    command = [sys.executable, "-I", "-S", "-c", _SWAPPER, str(first), str(second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"on\n"
        try:
            yield
            assert swapper.poll() is None, "the swapping had stopped by itself"
        finally:
            swapper.kill()


@pytest.fixture(params=[open_in_kernel, open_walking], ids=["openat2", "walking"])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    if chosen is open_in_kernel and best_opener() is not open_in_kernel:
        lacks(OPENAT2)
    return chosen


@pytest.fixture
def beneath(root: Path, opener: Opener) -> Iterator[Beneath]:
    fill_folder(root, {"a/x.txt": "in a", "a/d/f.txt": "in a/d", "b/f.txt": SECRET, "c/x": "in c"})
    opened = Beneath(root, opener, roots=("a", "c"))
    yield opened
    opened.close()


LINKS = (
    ("file", "../b/f.txt", ""),
    ("folder", "../b", "/f.txt"),
    ("here", "..", "/b/f.txt"),
    ("deep/link", "../../b/f.txt", ""),
    ("round", "../a/../b/f.txt", ""),
    ("first", "second", ""),  # second leads out: a chain
)


@pytest.mark.parametrize(("name", "target", "rest"), LINKS)
async def test_a_link_that_leaves_its_root_is_refused(
    beneath: Beneath, root: Path, name: str, target: str, rest: str
):
    link = root / "a" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    (root / "a" / "second").symlink_to("../b/f.txt")
    files, search = LocalFiles(beneath, WriteQueue()), LocalSearch(beneath)
    path = f"a/{name}{rest}"

    for call in (
        lambda: files.read(path, max_bytes=100),
        lambda: files.stat(path),
        lambda: files.write(path, b"mine"),
        lambda: search.grep(GrepQuery("SECRET", path=path)),
    ):
        with pytest.raises(OutsideWorkspace):
            await call()
    assert (root / "b/f.txt").read_text() == SECRET


async def test_an_absolute_link_is_refused_also_where_it_leads_inside(beneath: Beneath, root: Path):
    (root / "a/link").symlink_to(root / "a/x.txt")
    with pytest.raises(OutsideWorkspace):
        await LocalFiles(beneath, WriteQueue()).read("a/link", max_bytes=100)


async def test_a_link_within_a_root_is_followed_and_one_to_another_root_is_not(
    beneath: Beneath, root: Path
):
    (root / "a/near").symlink_to("d/f.txt")
    (root / "a/far").symlink_to("../c/x")
    files = LocalFiles(beneath, WriteQueue())

    assert await files.read("a/near", max_bytes=100) == b"in a/d"
    with pytest.raises(OutsideWorkspace):
        await files.read("a/far", max_bytes=100)


async def test_walks_list_a_link_and_never_follow_it(beneath: Beneath, root: Path):
    (root / "a/out").symlink_to("../b")
    search, files = LocalSearch(beneath), LocalFiles(beneath, WriteQueue())

    found = await search.find(FindQuery(path="a", type="all"))
    lines = await search.grep(GrepQuery("SECRET", path="a"))
    listed = {child.path: child.type for child in await files.list_dir("a")}

    assert [entry.path for entry in found.entries if entry.path.startswith("a/out/")] == []
    assert lines.total == 0
    assert listed["a/out"] == "other"


async def test_a_hard_link_is_a_file_of_the_root_like_any_other(beneath: Beneath, root: Path):
    os.link(root / "b/f.txt", root / "a/hard")
    files = LocalFiles(beneath, WriteQueue())
    assert await files.read("a/hard", max_bytes=100) == SECRET.encode()


async def test_a_root_that_has_become_a_link_is_closed(beneath: Beneath, root: Path):
    (root / "a").rename(root / "moved")
    (root / "a").symlink_to("b")
    files = LocalFiles(beneath, WriteQueue())

    for path in ("a/f.txt", "a/new/file"):
        with pytest.raises(ToolFailed):
            await files.write(path, b"mine")
        with pytest.raises(ToolFailed):
            await files.read(path, max_bytes=100)
    assert sorted(child.name for child in (root / "b").iterdir()) == ["f.txt"]


async def test_a_root_that_was_made_again_is_the_new_one(beneath: Beneath, root: Path):
    (root / "c").rename(root / "old")
    fill_folder(root, {"c/x": "new"})
    assert await LocalFiles(beneath, WriteQueue()).read("c/x", max_bytes=100) == b"new"


@pytest.mark.parametrize("place", ["a", "a/d"])
async def test_what_is_swapped_for_a_link_meanwhile_leads_nowhere(
    beneath: Beneath, root: Path, place: str
):
    target = "b" if place == "a" else "../b"
    twin = root / f"{place}-link"
    twin.symlink_to(target)
    fill_folder(root, {f"{place}/f.txt": "inside"})
    files, search = LocalFiles(beneath, WriteQueue()), LocalSearch(beneath)
    before = (root / "b/f.txt").stat().st_ctime_ns
    read: set[bytes] = set()

    with swapped(root / place, twin):
        for number in range(TRIES):
            try:
                read.add(await files.read(f"{place}/f.txt", max_bytes=100))
            except ToolFailed:
                read.add(b"refused")
            try:
                await files.write(f"{place}/new-{number % 3}", b"mine")
                lines = await search.grep(GrepQuery("SECRET", path=place))
                assert lines.total == 0
            except ToolFailed:
                read.add(b"refused")

    assert SECRET.encode() not in read
    assert (root / "b/f.txt").stat().st_ctime_ns == before
    assert sorted(child.name for child in (root / "b").iterdir()) == ["f.txt"]


@pytest.mark.parametrize("roots", [("/a",), ("..",), ("a/../b",), (".",), ("",)])
def test_what_is_no_folder_below_the_root_cannot_be_one_of_the_roots(
    root: Path, roots: tuple[str, ...]
):
    with pytest.raises((ConfigurationError, ToolFailed)):
        Beneath(root, roots=roots)


def test_a_workspace_without_restriction_cannot_be_narrowed(root: Path):
    with pytest.raises(ConfigurationError, match="restriction"):
        Beneath(root, restrict=False, roots=("a",))


def test_a_workspace_that_nobody_has_gives_its_descriptor_back(root: Path):
    fill_folder(root, {"a/x.txt": "in a"})
    gc.collect()
    before = open_descriptors()
    for _ in range(20):
        LocalWorkspace(root, roots=("a",))
    gc.collect()
    assert open_descriptors() == before


def test_without_a_sandbox_no_program_starts_in_a_narrowed_workspace(root: Path):
    fill_folder(root, {"a/x.txt": "in a"})
    with LocalWorkspace(root, roots=("a",)) as workspace:
        with pytest.raises(ToolFailed, match="'cat' cannot run here") as caught:
            workspace.operations.processes.open(ProcessSpec(("cat", "b/f.txt")))
        assert caught.value.details["code"] == "sandbox_unavailable"
