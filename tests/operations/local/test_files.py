from __future__ import annotations

import asyncio
import errno
import os
import resource
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.core.errors import OutsideWorkspace, StorageUnavailable, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.failures import failure
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.local.steps import ResolvedPath, Step, commit_all
from app.operations.protocols.files import Edited, FileState, FileStates
from app.operations.protocols.operations import Operations
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
async def test_a_cancelled_edit_is_over_before_the_next_begins_and_writes_nothing(
    files: LocalFiles, root: Path, queue: WriteQueue
):
    (root / "f").write_bytes(b"")
    entered, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(before: bytes) -> bytes:
        entered.set()
        go_on.wait(10)
        order.append("first")
        return before + b"first "

    def quick(before: bytes) -> bytes:
        order.append("second")
        return before + b"second"

    async with asyncio.timeout(60):
        first = asyncio.create_task(files.edit("f", slow))
        await asyncio.to_thread(entered.wait)
        first.cancel()
        second = asyncio.create_task(files.edit("f", quick))
        await asyncio.to_thread(go_on.set)
        await second

    assert first.cancelled()
    assert order == ["first", "second"]
    assert (root / "f").read_bytes() == b"second"
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


def test_what_was_renamed_already_is_put_back_when_a_later_file_fails(root: Path):
    fill_folder(root, {"a.sh": "one", "b": "two"})
    (root / "a.sh").chmod(0o750)
    folder = os.open(root, os.O_PATH)
    after = {"a.sh": FileState(b"1", 0o600), "b": None, "c": FileState(b"3")}
    steps = []
    for name, state in after.items():
        path = root / name
        before = FileState(path.read_bytes(), 0o750) if path.exists() else None
        steps.append(
            Step(folder, name, ResolvedPath(name, (1, 1, name), name, before, None), state)
        )
    for step in steps:
        step.stage(durable=False)
    nowhere = ResolvedPath("d", (1, 1, "d"), "d", FileState(b"4"), None)

    with pytest.raises(ToolFailed):
        commit_all([*steps, Step(-1, "d", nowhere, None)], durable=False)
    os.close(folder)

    assert (root / "a.sh").read_bytes() == b"one"
    assert (root / "a.sh").stat().st_mode & 0o777 == 0o750
    assert (root / "b").read_bytes() == b"two"
    assert names(root) == ["a.sh", "b"]


def test_what_cannot_be_put_back_is_named(root: Path):
    folder = os.open(root, os.O_PATH)
    (root / "a").write_bytes(b"one")
    lost = Step(folder, "a", ResolvedPath("a", (1, 1, "a"), "a", FileState(b"one"), None), None)

    class Closing(Step):
        def commit(self) -> None:
            os.close(folder)
            raise OSError(errno.ENOSPC, "")

    nowhere = Closing(-1, "d", ResolvedPath("d", (1, 1, "d"), "d", None, None), FileState(b""))
    with pytest.raises(StorageUnavailable, match="could not be restored") as caught:
        commit_all([lost, nowhere], durable=False)

    assert caught.value.details == {"files": ["a"]}


async def test_a_file_where_a_folder_has_to_be_leaves_everything_as_it_was(
    files: LocalFiles, root: Path
):
    fill_folder(root, {"a.sh": "one", "b": "two"})
    (root / "a.sh").chmod(0o750)
    # The folder `new` is made for the file in it, and then no file can be put in its place.
    states = {
        "a.sh": FileState(b"1", 0o600),
        "b": None,
        "c": FileState(b"3"),
        "new/d": FileState(b"4"),
        "new": FileState(b"5"),
    }

    with pytest.raises(ToolFailed, match="not a file"):
        await files.apply(list(states), lambda _: states)

    assert (root / "a.sh").read_bytes() == b"one"
    assert (root / "a.sh").stat().st_mode & 0o777 == 0o750
    assert names(root) == ["a.sh", "b"]


async def test_folders_that_were_made_for_a_write_that_fails_are_removed(
    files: LocalFiles, root: Path
):
    with largest_file(4096), pytest.raises(ToolFailed, match="File too large"):
        await files.write("new/deep/f", b"x" * 10_000)

    assert names(root) == []


async def test_what_somebody_else_writes_meanwhile_is_not_lost(files: LocalFiles, root: Path):
    (root / "f").write_bytes(b"one ")
    tries: list[int] = []

    async def meddle(_: Sequence[Edited]) -> None:
        if len(tries) < 3:
            with (root / "f").open("ab") as file:
                file.write(b"theirs ")
        tries.append(1)

    def extend(found: FileStates) -> FileStates:
        state = found["f"]
        assert state is not None
        return {"f": FileState(state.data + b"mine", state.mode)}

    await files.apply(["f"], extend, before_write=meddle)

    assert (root / "f").read_bytes() == b"one theirs theirs theirs mine"
    assert len(tries) == 4


async def test_somebody_who_never_stops_writing_is_named(files: LocalFiles, root: Path):
    (root / "f").write_bytes(b"")

    async def meddle(_: Sequence[Edited]) -> None:
        (root / "other").write_bytes(b"theirs")
        (root / "other").replace(root / "f")

    with pytest.raises(ToolFailed, match="keeps writing") as caught:
        await files.apply(["f"], lambda _: {"f": FileState(b"mine")}, before_write=meddle)

    assert caught.value.details["code"] == "workspace_changing"
    assert (root / "f").read_bytes() == b"theirs"


async def test_a_hard_link_is_parted_not_written_through(
    files: LocalFiles, root: Path, tmp_path: Path
):
    (tmp_path / "elsewhere").write_bytes(b"outside")
    os.link(tmp_path / "elsewhere", root / "f")

    await files.write("f", b"inside")

    assert (tmp_path / "elsewhere").read_bytes() == b"outside"


async def test_results_name_a_file_by_its_one_place(files: LocalFiles, root: Path):
    fill_folder(root, {"real/f": "x"})
    (root / "alias").symlink_to("real")
    (root / "link").symlink_to("alias/f")

    edits = [
        await files.write(path, b"y")
        for path in ("real/f", "alias/f", "link", "real/../real/./f", f"{root}/real/f")
    ]

    assert {edit.path for edit in edits} == {"real/f"}


async def test_a_deleted_link_or_pipe_or_large_file_is_reported_as_such(
    files: LocalFiles, root: Path
):
    (root / "link").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    (root / "big").write_bytes(b"x" * 1001)

    unread = [(await files.delete(path)).unread for path in ("link", "pipe", "big")]

    assert unread == ["link", "special", "too_large"]
    assert names(root) == []
