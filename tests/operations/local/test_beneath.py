"""Nothing outside the workspace is reached, with openat2 and without."""

from __future__ import annotations

import ctypes
import os
import threading
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
from app.operations.local.workspace import LocalWorkspace
from scripts.parts import OPENAT2
from tests.operations.conftest import names
from tests.support.binaries import lacks

libc = ctypes.CDLL(None)
SECRET = b"outside the workspace"


@pytest.fixture(params=[open_in_kernel, open_walking])
def opener(request: pytest.FixtureRequest):
    if request.param is open_in_kernel and best_opener() is not open_in_kernel:
        lacks(OPENAT2)
    return request.param


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "ws_evil"
    folder.mkdir()
    (folder / "f.txt").write_bytes(SECRET)
    return folder


@pytest.fixture
def files(root: Path, opener: Opener) -> Iterator[LocalFiles]:
    beneath = Beneath(root, opener)
    yield LocalFiles(beneath, WriteQueue())
    beneath.close()


@pytest.mark.requirement("CTX-08", "B-16")
@pytest.mark.parametrize("target", ["../ws_evil", "{outside}", "sub/../../ws_evil", "../ws_evil/"])
async def test_links_that_lead_outside_are_refused(
    files: LocalFiles, root: Path, outside: Path, target: str
):
    (root / "sub").mkdir()
    (root / "link").symlink_to(target.format(outside=outside))
    (root / "file").symlink_to(f"{target.format(outside=outside)}/f.txt")

    for call in (
        files.read("link/f.txt", max_bytes=99),
        files.read("file", max_bytes=99),
        files.stat("file"),
        files.list_dir("link"),
        files.write("link/new.txt", b"x"),
        files.write("link/deep/new.txt", b"x"),
        files.write("file", b"x"),
        files.edit("file", bytes.upper),
        files.delete("link/f.txt"),
        files.make_dir("link/dir"),
    ):
        with pytest.raises(OutsideWorkspace):
            await call
    assert names(outside) == ["f.txt"]
    assert (outside / "f.txt").read_bytes() == SECRET


@pytest.mark.requirement("CTX-08")
async def test_the_sibling_with_the_same_prefix_is_outside(files: LocalFiles, outside: Path):
    for path in (f"{outside}/f.txt", "../ws_evil/f.txt"):
        with pytest.raises(OutsideWorkspace):
            await files.read(path, max_bytes=99)


@pytest.mark.requirement("CTX-08")
async def test_links_that_stay_inside_are_followed(files: LocalFiles, root: Path):
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/f.txt").write_bytes(b"old")
    (root / "dir").symlink_to("a/b")
    (root / "a/up").symlink_to("../dir/f.txt")

    assert await files.read("dir/f.txt", max_bytes=9) == b"old"
    assert await files.read("a/up", max_bytes=9) == b"old"
    await files.write("a/up", b"new")
    await files.write("dir/../c", b"beside the real folder")

    assert (root / "a/up").is_symlink()
    assert (root / "a/b/f.txt").read_bytes() == b"new"
    assert (root / "a/c").read_bytes() == b"beside the real folder"


async def test_deleting_a_link_keeps_its_target(files: LocalFiles, root: Path, outside: Path):
    (root / "file").symlink_to(outside / "f.txt")

    await files.delete("file")

    assert not (root / "file").is_symlink()
    assert (outside / "f.txt").read_bytes() == SECRET


async def test_link_loops_and_dangling_links_end(files: LocalFiles, root: Path):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "c").symlink_to("gone")

    for call, code in (
        (files.read("a", max_bytes=9), "invalid_path"),
        (files.write("a", b""), "invalid_path"),
        (files.read("c", max_bytes=9), "file_not_found"),
    ):
        with pytest.raises(ToolFailed) as caught:
            await call
        assert caught.value.details["code"] == code
    assert await files.stat("c") is None
    await files.write("c", b"through the dangling link")
    assert (root / "gone").read_bytes() == b"through the dangling link"


async def test_a_planted_fifo_neither_hangs_nor_is_replaced(files: LocalFiles, root: Path):
    os.mkfifo(root / "fifo")

    for call in (
        files.read("fifo", max_bytes=9),
        files.write("fifo", b"x"),
        files.edit("fifo", bytes.upper),
    ):
        with pytest.raises(ToolFailed) as caught:
            await call
        assert caught.value.details["code"] == "not_a_file"
    assert (root / "fifo").is_fifo()
    assert [child.type for child in await files.list_dir(".")] == ["other"]


def exchange(first: Path, second: Path) -> None:
    here, atomically_both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    failed = libc.renameat2(here, bytes(first), here, bytes(second), atomically_both)
    assert not failed


@contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """Turn `root/d` from a folder into a link outside and back, until the block ends."""
    real, link = root / "d", root / "link"
    real.mkdir()
    (real / "f.txt").write_bytes(b"inside")
    link.symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            exchange(real, link)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.requirement("CTX-08", "B-16")
async def test_a_racing_swap_never_leads_outside(files: LocalFiles, root: Path, outside: Path):
    seen: set[bytes] = set()
    with swapping(root, outside):
        for number in range(300):
            try:
                seen.add(await files.read("d/f.txt", max_bytes=99))
                await files.write(f"d/new{number}.txt", b"x")
                await files.edit("d/f.txt", lambda before: before)
                await files.delete(f"d/new{number}.txt")
            except ToolFailed:
                continue

    assert seen <= {b"inside"}
    assert names(outside) == ["f.txt"]
    assert (outside / "f.txt").read_bytes() == SECRET


@pytest.mark.requirement("CTX-08")
def test_opening_while_folders_are_swapped_gives_inside_or_nothing(
    root: Path, outside: Path, opener: Opener
):
    beneath = Beneath(root, opener)
    secret = (outside / "f.txt").stat().st_ino
    inodes: set[int] = set()
    with swapping(root, outside):
        for attempt in range(200_000):
            # On a busy machine the other thread may win for long: go on until both were seen.
            if attempt >= 5000 and inodes:
                break
            try:
                with beneath.file("d/f.txt") as (_, status):
                    inodes.add(status.st_ino)
            except ToolFailed:
                continue
    beneath.close()

    assert inodes
    assert secret not in inodes


def test_both_ways_of_opening_agree(root: Path, outside: Path):
    if best_opener() is not open_in_kernel:
        lacks(OPENAT2)
    (root / "a/b").mkdir(parents=True)
    (root / "a/f").write_bytes(b"")
    (root / "up").symlink_to("a/b/../f")
    (root / "out").symlink_to("a/../../ws_evil/f.txt")
    (root / "abs").symlink_to(root / "a")
    paths = (".", "a", "a/f", "a/b/../f", "up", "up/x", "a/f/x", "out", "abs", "abs/f", "..")
    strange = ("a/../..", "gone", "gone/x", "a/./b", "a/b/../../a/f", "gone/../../x", "a/f/..")

    with_kernel = [outcome(open_in_kernel, root, path) for path in (*paths, *strange)]

    without = [outcome(open_walking, root, path) for path in (*paths, *strange)]
    assert without == with_kernel


def outcome(opener: Opener, root: Path, path: str) -> int | None:
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        descriptor = opener(folder, path, os.O_PATH)
    except OSError as error:
        return error.errno
    finally:
        os.close(folder)
    inode = os.fstat(descriptor).st_ino
    os.close(descriptor)
    return inode


@pytest.mark.parametrize("name", ["gone", "file"])
def test_the_root_must_be_an_existing_directory(tmp_path: Path, name: str):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(ConfigurationError, match="must be an existing directory"):
        LocalWorkspace(tmp_path / name)


async def test_a_root_reached_through_a_link_takes_both_spellings(root: Path, tmp_path: Path):
    (root / "f").write_bytes(b"x")
    (tmp_path / "alias").symlink_to(root)

    with LocalWorkspace(tmp_path / "alias") as workspace:
        for path in (f"{root}/f", f"{tmp_path}/alias/f"):
            assert await workspace.operations.files.read(path, max_bytes=9) == b"x"


async def test_an_operator_may_lift_the_restriction(root: Path, outside: Path):
    (root / "f").write_bytes(b"x")
    with LocalWorkspace(root) as workspace, pytest.raises(OutsideWorkspace):
        await workspace.operations.files.read(f"{outside}/f.txt", max_bytes=99)

    with LocalWorkspace(root, restrict=False) as workspace:
        files = workspace.operations.files
        assert await files.read(f"{outside}/f.txt", max_bytes=99) == SECRET
        assert await files.read("../ws_evil/f.txt", max_bytes=99) == SECRET
        assert [child.path for child in await files.list_dir(".")] == [f"{root}/f"]
        assert await files.read(f"{root}/f", max_bytes=9) == b"x"
