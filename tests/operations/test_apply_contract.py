"""What every implementation does when several files change together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.protocols.files import Edited, FileState, FileStates
from tests.operations.conftest import Fill

pytestmark = pytest.mark.requirement("OPS-01")


def to(states: FileStates):
    return lambda _: states


@pytest.mark.requirement("FIL-09")
async def test_files_are_made_changed_and_removed_together(fill: Fill):
    files = fill({"a.txt": "one", "b.txt": "two"}).files

    edits = await files.apply(
        ["a.txt", "b.txt", "new/c.txt", "d.txt"],
        to({"new/c.txt": FileState(b"3"), "b.txt": None, "a.txt": FileState(b"1")}),
    )

    assert edits == [
        Edited("a.txt", b"one", b"1"),
        Edited("b.txt", b"two", None),
        Edited("new/c.txt", None, b"3"),
    ]
    assert await files.read("a.txt", max_bytes=9) == b"1"
    assert await files.read("new/c.txt", max_bytes=9) == b"3"
    assert await files.stat("b.txt") is None
    assert await files.stat("d.txt") is None


async def test_a_change_sees_what_is_there_and_may_set_the_mode(fill: Fill):
    files = fill({"a.txt": "one"}).files
    seen: list[FileStates] = []

    def change(found: FileStates) -> FileStates:
        seen.append(found)
        return {"b.sh": FileState(b"x", 0o755)}

    await files.apply(["a.txt", "b.sh"], change)

    state = seen[0]["a.txt"]
    assert state is not None
    assert (state.data, seen[0]["b.sh"]) == (b"one", None)
    made = await files.stat("b.sh")
    assert made is not None
    assert made.mode == 0o755


@pytest.mark.requirement("FIL-09")
async def test_one_file_that_cannot_be_written_leaves_all_as_they_were(fill: Fill):
    files = fill({"a.txt": "one", "b.txt": "two", "file": "x"}).files

    with pytest.raises(ToolFailed):
        await files.apply(
            ["a.txt", "b.txt", "new/c.txt", "file/below"],
            to(
                {
                    "a.txt": FileState(b"1"),
                    "b.txt": None,
                    "new/c.txt": FileState(b"3"),
                    "file/below": FileState(b"4"),
                }
            ),
        )

    assert await files.read("a.txt", max_bytes=9) == b"one"
    assert await files.read("b.txt", max_bytes=9) == b"two"
    assert [child.path for child in await files.list_dir(".")] == ["a.txt", "b.txt", "file"]


async def test_a_file_in_a_folder_that_becomes_a_file_is_refused(fill: Fill):
    files = fill({"keep": "x"}).files

    with pytest.raises(ToolFailed):
        await files.apply(
            ["new/c.txt", "new"], to({"new/c.txt": FileState(b"1"), "new": FileState(b"2")})
        )

    assert [child.path for child in await files.list_dir(".")] == ["keep"]


async def test_what_is_reported_before_a_write_may_prevent_it(fill: Fill):
    files = fill({"a.txt": "one", "b.txt": "two"}).files
    reported: list[Edited] = []

    async def refuse(edits: Sequence[Edited]) -> None:
        reported.extend(edits)
        raise ToolFailed("no", code="refused")

    states = {"a.txt": FileState(b"1"), "new/c": FileState(b"2")}
    for call in (
        files.apply(["a.txt", "new/c"], to(states), before_write=refuse),
        files.delete("b.txt", before_write=refuse),
    ):
        with pytest.raises(ToolFailed, match="no"):
            await call

    assert reported == [
        Edited("a.txt", b"one", b"1"),
        Edited("new/c", None, b"2"),
        Edited("b.txt", b"two", None),
    ]
    assert [child.path for child in await files.list_dir(".")] == ["a.txt", "b.txt"]
    assert await files.read("a.txt", max_bytes=9) == b"one"


@pytest.mark.parametrize("other", ["./a.txt", "x/../a.txt"])
async def test_two_names_of_one_file_are_refused(fill: Fill, other: str):
    files = fill({"a.txt": "one", "x/y": ""}).files

    with pytest.raises(ToolFailed) as caught:
        await files.apply(["a.txt", other], to({"a.txt": None, other: FileState(b"1")}))

    assert caught.value.details["code"] == "same_file"
    assert await files.read("a.txt", max_bytes=9) == b"one"


@pytest.mark.requirement("CTX-08")
async def test_nothing_is_written_when_one_path_is_outside(fill: Fill):
    files = fill({"a.txt": "one"}).files

    with pytest.raises(OutsideWorkspace):
        await files.apply(
            ["a.txt", "../b.txt"], to({"a.txt": FileState(b"1"), "../b.txt": FileState(b"2")})
        )

    assert await files.read("a.txt", max_bytes=9) == b"one"


@pytest.mark.requirement("OPS-02")
async def test_changes_that_name_files_in_opposite_orders_do_not_wait_for_each_other(fill: Fill):
    files = fill({"a": "0", "b": "0"}).files

    def increment(found: FileStates) -> FileStates:
        return {
            path: FileState(str(int(state.data) + 1).encode(), state.mode)
            for path, state in found.items()
            if state is not None
        }

    async with asyncio.timeout(60):
        await asyncio.gather(
            *(files.apply(["a", "b"][:: (-1) ** number], increment) for number in range(20))
        )

    assert [await files.read(path, max_bytes=9) for path in ("a", "b")] == [b"20", b"20"]


@pytest.mark.requirement("OPS-02")
async def test_appends_that_make_the_folder_are_all_kept(fill: Fill):
    files = fill().files

    await asyncio.gather(*(files.write("new/log", b"x", append=True) for _ in range(20)))

    assert await files.read("new/log", max_bytes=99) == b"x" * 20


@pytest.mark.requirement("FIL-03")
async def test_deleting_tells_what_was_there(fill: Fill):
    files = fill({"a.txt": "one"}).files

    assert await files.delete("a.txt") == Edited("a.txt", b"one", None)
