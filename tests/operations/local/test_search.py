from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from app.operations.local.search import run_stoppable
from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery, GrepQuery
from tests.operations.conftest import fill_folder, open_descriptors


@pytest.mark.requirement("CTX-08")
async def test_links_and_fifos_are_not_followed_out(local: Operations, root: Path, tmp_path: Path):
    fill_folder(tmp_path / "outside", {"secret.txt": "needle"})
    fill_folder(root, {"in.txt": "needle"})
    (root / "dir").symlink_to(tmp_path / "outside")
    (root / "file.txt").symlink_to(tmp_path / "outside/secret.txt")
    os.mkfifo(root / "fifo.txt")

    async with asyncio.timeout(60):
        found = await local.search.find(FindQuery(pattern="*.txt", type="all"))
        grepped = await local.search.grep(GrepQuery("needle", mode="count"))

    assert [(entry.path, entry.type) for entry in found.entries] == [
        ("fifo.txt", "other"),
        ("file.txt", "other"),
        ("in.txt", "file"),
    ]
    assert grepped.counts == (("in.txt", 1),)


async def test_files_larger_than_the_buffer_are_read_whole(local: Operations, root: Path):
    fill_folder(root, {"a": "x\n" * 2_000_000 + "needle", "b": "small needle", "c": "x"})

    result = await local.search.grep(GrepQuery("needle"))

    assert [(line.path, line.line_number) for line in result.lines] == [("a", 2_000_001), ("b", 1)]


async def test_find_sorts_by_time_newest_first(local: Operations, root: Path):
    fill_folder(root, {"old": "", "new": "", "mid": ""})
    for second, name in enumerate(("old", "mid", "new")):
        os.utime(root / name, (second, second))

    result = await local.search.find(FindQuery(sort="modified", limit=2))

    assert [entry.path for entry in result.entries] == ["new", "mid"]
    assert (result.total, result.truncated) == (3, True)


async def test_a_changed_ignore_file_counts_at_once(local: Operations, root: Path):
    fill_folder(root, {".gitignore": "a", "a": "", "b": ""})
    before = await local.search.find(FindQuery())
    (root / ".gitignore").write_text("b\nb")

    after = await local.search.find(FindQuery())

    assert [entry.path for entry in before.entries] == ["b"]
    assert [entry.path for entry in after.entries] == ["a"]


async def test_very_deep_trees_end_and_are_counted(local: Operations, root: Path):
    folder = os.open(root, os.O_RDONLY)
    for _ in range(250):
        os.mkdir("d", dir_fd=folder)
        deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)

    found = await local.search.find(FindQuery(type="dir", limit=0))
    grepped = await local.search.grep(GrepQuery("x"))

    assert 150 < len(found.entries) < 250
    assert grepped.files_skipped == 1


async def test_cancelling_stops_the_thread():
    entered, seen = threading.Event(), []

    def work(stop: threading.Event) -> None:
        entered.set()
        seen.append(stop.wait(10))

    async with asyncio.timeout(60):
        task = asyncio.create_task(run_stoppable(work))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert seen == [True]


async def test_counting_a_broad_pattern_ends_early(
    local: Operations, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.operations.grep_page.COUNT_AHEAD", 10)
    fill_folder(root, dict.fromkeys("abcdef", "x\n" * 8))

    result = await local.search.grep(GrepQuery("x", limit=2))

    assert (len(result.lines), result.total, result.files_searched) == (2, 16, 2)
    assert result.truncated


async def test_no_descriptor_is_left_open(local: Operations, root: Path):
    fill_folder(root, {"a/b/c": "x", "a/.gitignore": "z", "d": "x"})
    before = open_descriptors()

    await local.search.find(FindQuery(limit=1))
    await local.search.grep(GrepQuery("x", path="a"))
    await local.search.grep(GrepQuery("x", path="d"))

    assert open_descriptors() == before


async def test_strange_names_are_searched_and_ignored(local: Operations, root: Path):
    broken = os.fsdecode(b"\xff.txt")
    fill_folder(
        root, {".gitignore": "*.log\nb\n", broken: "x", "a\nb": "x", "b": "x", "c.log": "x"}
    )

    found = await local.search.find(FindQuery())
    grepped = await local.search.grep(GrepQuery("x", glob="*t", mode="count"))

    assert [entry.path for entry in found.entries] == ["a\nb", broken]
    assert grepped.counts == ((broken, 1),)
