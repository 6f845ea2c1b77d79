from __future__ import annotations

import asyncio
import errno
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.core.errors import OutsideWorkspace, StorageUnavailable, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.failures import failure
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.protocols import Operations
from tests.operations.conftest import fill_folder, names, open_descriptors


@pytest.fixture
def queue() -> WriteQueue:
    return WriteQueue()


@pytest.fixture
def files(root: Path, queue: WriteQueue) -> Iterator[LocalFiles]:
    beneath = Beneath(root)
    yield LocalFiles(beneath, queue, max_edit_bytes=1000, fsync=True)
    beneath.close()


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640])
async def test_a_write_keeps_the_mode_and_leaves_nothing_else(
    files: LocalFiles, root: Path, mode: int
):
    (root / "run.sh").write_bytes(b"old")
    (root / "run.sh").chmod(mode)

    await files.write("run.sh", b"new")

    assert (root / "run.sh").read_bytes() == b"new"
    assert (root / "run.sh").stat().st_mode & 0o7777 == mode
    assert names(root) == ["run.sh"]


async def test_an_open_reader_keeps_the_old_content(files: LocalFiles, root: Path):
    (root / "f").write_bytes(b"old")

    reader = os.open(root / "f", os.O_RDONLY)
    await files.write("f", b"new content")

    assert os.read(reader, 99) == b"old"
    os.close(reader)


@pytest.mark.requirement("OPS-02")
async def test_every_spelling_of_a_file_shares_one_queue(
    files: LocalFiles, root: Path, queue: WriteQueue
):
    (root / "sub").mkdir()
    (root / "n").write_bytes(b"0")
    (root / "sub/link").symlink_to("../n")
    spellings = ["n", "./n", f"{root}/n", "sub/../n", "sub/link"] * 4

    def increment(before: bytes) -> bytes:
        return str(int(before) + 1).encode()

    await asyncio.gather(*(files.edit(path, increment) for path in spellings))

    assert (root / "n").read_bytes() == b"20"
    assert len(queue) == 0


@pytest.mark.requirement("OPS-02")
async def test_a_cancelled_edit_finishes_before_the_next_begins(
    files: LocalFiles, root: Path, queue: WriteQueue
):
    (root / "f").write_bytes(b"")
    entered, go_on = threading.Event(), threading.Event()

    def slow(before: bytes) -> bytes:
        entered.set()
        go_on.wait(10)
        return before + b"first "

    async with asyncio.timeout(10):
        first = asyncio.create_task(files.edit("f", slow))
        await asyncio.to_thread(entered.wait)
        first.cancel()
        second = asyncio.create_task(files.edit("f", lambda before: before + b"second"))
        await asyncio.to_thread(go_on.set)
        await second

    assert first.cancelled()
    assert (root / "f").read_bytes() == b"first second"
    assert len(queue) == 0


async def test_files_too_large_to_carry_are_not_rewritten(files: LocalFiles, root: Path):
    (root / "big").write_bytes(b"x" * 1001)

    with pytest.raises(ToolFailed, match="too large") as caught:
        await files.write("big", b"", append=True)

    assert caught.value.details["code"] == "file_too_large"
    assert (root / "big").stat().st_size == 1001


async def test_an_absurd_time_stamp_is_no_error(files: LocalFiles, root: Path):
    (root / "f").write_bytes(b"")
    os.utime(root / "f", (2**40, 2**40))

    status = await files.stat("f")

    assert status is not None
    assert status.modified.tzinfo is not None


async def test_names_that_are_not_utf8_come_back_usable(files: LocalFiles, root: Path):
    fill_folder(root, {os.fsdecode(b"\xff.txt"): b"x"})

    (child,) = await files.list_dir(".")

    assert await files.read(child.path, max_bytes=9) == b"x"


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_write_that_fails_half_way_leaves_the_old_file(files: LocalFiles, root: Path):
    (root / "f").write_bytes(b"old")

    with largest_file(4096), pytest.raises(ToolFailed, match="File too large"):
        await files.write("f", b"x" * 10_000)

    assert (root / "f").read_bytes() == b"old"
    assert names(root) == ["f"]


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOSPC, StorageUnavailable, None),
        (errno.EDQUOT, StorageUnavailable, None),
        (errno.EMFILE, StorageUnavailable, None),
        (errno.EACCES, ToolFailed, "permission_denied"),
        (errno.EROFS, ToolFailed, "permission_denied"),
        (errno.ENAMETOOLONG, ToolFailed, "invalid_path"),
        (errno.EXDEV, OutsideWorkspace, None),
        (errno.EIO, ToolFailed, "io_error"),
    ],
)
def test_errors_of_the_system_become_typed(number: int, kind: type, code: str | None):
    error = failure(OSError(number, ""), "a.txt")

    assert type(error) is kind
    assert error.details.get("code") == code


def test_a_full_disk_names_the_fix():
    assert "free space" in failure(OSError(errno.ENOSPC, ""), "a.txt").message


async def test_no_descriptor_is_left_open(local: Operations):
    await local.files.write("a/b", b"x")
    before = open_descriptors()

    for path in ("a/b", "a", "gone", "..", "a/b/c"):
        for call in (
            local.files.read(path, max_bytes=9),
            local.files.stat(path),
            local.files.list_dir(path),
            local.files.write(path, b"x"),
            local.files.make_dir(path),
        ):
            await asyncio.gather(call, return_exceptions=True)

    assert open_descriptors() == before
