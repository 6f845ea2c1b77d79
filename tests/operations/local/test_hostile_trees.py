"""Searching trees that somebody made to be difficult."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery, GrepQuery
from tests.operations.conftest import fill_folder, open_descriptors


async def test_a_hundred_thousand_files_are_found_and_searched(local: Operations, root: Path):
    for number in range(100):
        folder = root / f"d{number:02}"
        folder.mkdir()
        descriptor = os.open(folder, os.O_RDONLY)
        for name in range(1000):
            os.close(os.open(f"f{name}", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        os.close(descriptor)
    (root / "d99/f999").write_text("needle")

    found = await local.search.find(FindQuery(limit=10))
    grepped = await local.search.grep(GrepQuery("needle"))

    assert (len(found.entries), found.total, found.truncated) == (10, 100_000, True)
    assert ([line.path for line in grepped.lines], grepped.files_searched) == (
        ["d99/f999"],
        100_000,
    )


async def test_two_thousand_levels_end_and_are_counted(local: Operations, root: Path):
    folder = os.open(root, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", dir_fd=folder)
        deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    (root / "top.txt").write_text("needle")
    before = open_descriptors()

    found = await local.search.find(FindQuery(type="all", limit=0))
    grepped = await local.search.grep(GrepQuery("needle"))

    assert found.total == 201
    assert ([line.path for line in grepped.lines], grepped.files_skipped) == (["top.txt"], 1)
    assert open_descriptors() == before
    # deeper than Python's own removal of folders goes
    await asyncio.to_thread(subprocess.run, ["rm", "-rf", str(root / "d")], check=True)


async def test_links_that_lead_in_circles_are_not_followed(local: Operations, root: Path):
    fill_folder(root, {"a/x.txt": "needle"})
    (root / "a/loop").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "up").symlink_to("..")

    found = await local.search.find(FindQuery(type="all"))
    grepped = await local.search.grep(GrepQuery("needle", mode="count"))

    assert [entry.path for entry in found.entries] == ["a", "a/loop", "a/x.txt", "self", "up"]
    assert grepped.counts == (("a/x.txt", 1),)


async def test_what_is_no_file_is_listed_and_never_read(local: Operations, root: Path):
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as server, _working_folder(root):
        server.bind("socket")
        (root / "text").write_text("needle")
        async with asyncio.timeout(60):
            found = await local.search.find(FindQuery(type="all"))
            grepped = await local.search.grep(GrepQuery(""))

    assert [(entry.path, entry.type) for entry in found.entries] == [
        ("fifo", "other"),
        ("socket", "other"),
        ("text", "file"),
    ]
    assert [line.path for line in grepped.lines] == ["text"]


async def test_names_of_any_bytes_are_found_and_searched(local: Operations, root: Path):
    names = [os.fsdecode(name) for name in (b"a\nb", b"\xff\xfe", b"-rf", b"$(x)", b"a\x1b[2J")]
    for name in names:
        (root / name).write_text("needle")

    found = await local.search.find(FindQuery())
    grepped = await local.search.grep(GrepQuery("needle", mode="files_with_matches"))

    assert sorted(entry.path for entry in found.entries) == sorted(names)
    assert sorted(path for path, _ in grepped.counts) == sorted(names)


async def test_files_that_come_and_go_meanwhile_break_nothing(local: Operations, root: Path):
    fill_folder(root, {f"stay/{number}": "needle\n" for number in range(50)})
    outside = root.parent / "outside"
    fill_folder(outside, {"secret": "needle secret\n"})
    before = open_descriptors()

    with _churning(root, outside):
        results = [await local.search.grep(GrepQuery("needle", limit=0)) for _ in range(40)]
        finds = [await local.search.find(FindQuery(sort="modified", limit=0)) for _ in range(40)]

    for result in results:
        assert sum(line.path.startswith("stay/") for line in result.lines) == 50
        assert not any("secret" in line.text for line in result.lines)
    for found in finds:
        assert sum(entry.path.startswith("stay/") for entry in found.entries) == 50
        assert not any(entry.path.endswith("secret") for entry in found.entries)
    assert open_descriptors() == before


async def test_a_file_larger_than_the_limit_is_not_read_for_it(local: Operations, root: Path):
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (root / "text").write_text("needle")

    result = await local.search.grep(GrepQuery("needle"))

    assert (result.files_searched, result.files_skipped) == (1, 1)


async def test_a_file_at_the_edge_of_the_buffer_is_read_whole(local: Operations, root: Path):
    edge = 512 << 10
    sizes = [edge - 2, edge - 1, edge, edge + 1, 130_000, 130_000, 130_000, 130_000, 5]
    for index, size in enumerate(sizes):
        (root / f"{index}").write_bytes(b"x" * (size - 2) + b"\nN")

    result = await local.search.grep(GrepQuery("N", limit=0))

    assert [(line.path, line.line_number) for line in result.lines] == [
        (str(index), 2) for index in range(len(sizes))
    ]


@contextmanager
def _working_folder(folder: Path) -> Iterator[None]:
    """The address of a socket has room for a short path only."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _churning(root: Path, outside: Path) -> Iterator[None]:
    """A thread that makes and removes files and folders, and swaps one for a link outside."""
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            with suppress(OSError):
                fill_folder(root, {"comes/deep/a": "needle", "comes/b": "needle"})
                (root / "comes/deep").rename(root / "moved")
                (root / "comes/deep").symlink_to(outside)
                shutil.rmtree(root / "moved", ignore_errors=True)
                (root / "comes/deep").unlink()
                shutil.rmtree(root / "comes", ignore_errors=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
