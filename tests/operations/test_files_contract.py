"""What every implementation of `FileOperations` does."""

from __future__ import annotations

import asyncio

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.protocols.files import Edited
from tests.operations.conftest import Fill

pytestmark = pytest.mark.requirement("OPS-01", "OPS-06")


async def failing(call) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        await call
    return caught.value


@pytest.mark.requirement("FIL-07")
async def test_what_was_written_is_read_back(fill: Fill):
    files = fill().files

    edited = await files.write("docs/说明.md", "你好".encode())

    assert edited == Edited("docs/说明.md", None, "你好".encode())
    assert await files.read("docs/说明.md", max_bytes=100) == "你好".encode()


@pytest.mark.requirement("FIL-02")
async def test_appending_extends_and_writing_replaces(fill: Fill):
    files = fill({"a.txt": "one"}).files

    extended = await files.write("a.txt", b" two", append=True)
    replaced = await files.write("a.txt", b"three")

    assert extended == Edited("a.txt", b"one", b"one two")
    assert replaced == Edited("a.txt", b"one two", b"three")


async def test_appending_to_nothing_creates_the_file(fill: Fill):
    files = fill().files

    assert await files.write("new/log", b"x", append=True) == Edited("new/log", None, b"x")


async def test_reading_reports_missing_folder_and_size(fill: Fill):
    files = fill({"big.txt": "12345", "dir/x": ""}).files

    codes = [
        (await failing(files.read("gone", max_bytes=9))).details["code"],
        (await failing(files.read("dir", max_bytes=9))).details["code"],
        (await failing(files.read("big.txt", max_bytes=4))).details["code"],
    ]

    assert codes == ["file_not_found", "not_a_file", "file_too_large"]
    assert await files.read("big.txt", max_bytes=5) == b"12345"


@pytest.mark.requirement("FIL-05")
async def test_stat_tells_type_and_size_or_none(fill: Fill):
    files = fill({"src/main.py": "print()"}).files

    file, folder = await files.stat("./src//main.py"), await files.stat("src")

    assert file is not None
    assert (file.path, file.type, file.size) == ("src/main.py", "file", 7)
    assert file.modified.tzinfo is not None
    assert folder is not None
    assert (folder.path, folder.type) == ("src", "directory")
    assert await files.stat("src/gone") is None


async def test_a_path_without_links_has_no_other_place(fill: Fill):
    files = fill({"src/main.py": ""}).files

    assert [await files.place(path) for path in ("src/main.py", "src", "src/gone")] == ["", "", ""]


@pytest.mark.requirement("FIL-04")
async def test_listing_puts_folders_first(fill: Fill):
    files = fill({"b.txt": "1", "a.txt": "", "z/inner.txt": "", "c/inner.txt": ""}).files

    children = await files.list_dir(".")

    assert [(child.path, child.type) for child in children] == [
        ("c", "directory"),
        ("z", "directory"),
        ("a.txt", "file"),
        ("b.txt", "file"),
    ]
    assert [child.path for child in await files.list_dir("z")] == ["z/inner.txt"]


async def test_listing_what_is_no_folder_says_so(fill: Fill):
    files = fill({"a.txt": ""}).files

    assert (await failing(files.list_dir("a.txt"))).details["code"] == "not_a_directory"
    assert (await failing(files.list_dir("gone"))).details["code"] == "file_not_found"


@pytest.mark.requirement("FIL-03")
async def test_deleting_removes_files_only(fill: Fill):
    files = fill({"a.txt": "", "dir/b.txt": ""}).files

    await files.delete("a.txt")

    assert await files.stat("a.txt") is None
    assert (await failing(files.delete("a.txt"))).details["code"] == "file_not_found"
    assert (await failing(files.delete("dir"))).details["code"] == "not_a_file"
    assert await files.stat("dir/b.txt") is not None


@pytest.mark.requirement("FIL-06")
async def test_folders_are_made_with_their_parents_once(fill: Fill):
    files = fill({"file": ""}).files

    assert await files.make_dir("a/b/c") is True
    assert await files.make_dir("a/b/c") is False
    assert await files.make_dir(".") is False
    assert (await failing(files.make_dir("file/x"))).details["code"] == "not_a_directory"


async def test_a_change_that_raises_leaves_the_file_alone(fill: Fill):
    files = fill({"a.txt": "old"}).files

    def refuse(_: bytes) -> bytes:
        raise ToolFailed("not unique", code="not_unique")

    assert (await failing(files.edit("a.txt", refuse))).details["code"] == "not_unique"
    assert await files.read("a.txt", max_bytes=9) == b"old"
    assert [child.path for child in await files.list_dir(".")] == ["a.txt"]


async def test_editing_nothing_is_not_found(fill: Fill):
    error = await failing(fill().files.edit("gone", bytes.upper))

    assert error.details["code"] == "file_not_found"


@pytest.mark.requirement("OPS-02")
async def test_twenty_concurrent_edits_all_survive(fill: Fill):
    files = fill({"list.txt": ""}).files

    def adding(number: int):
        return lambda before: before + f"{number}\n".encode()

    await asyncio.gather(*(files.edit("list.txt", adding(number)) for number in range(20)))

    lines = (await files.read("list.txt", max_bytes=999)).split()
    assert sorted(map(int, lines)) == list(range(20))


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("path", ["../../../etc/passwd", "/etc/passwd", "/", "a/../../x"])
async def test_paths_outside_are_refused_by_every_call(fill: Fill, path: str):
    files = fill({"a/b": ""}).files

    for call in (
        files.read(path, max_bytes=9),
        files.stat(path),
        files.place(path),
        files.list_dir(path),
        files.write(path, b""),
        files.edit(path, bytes.upper),
        files.delete(path),
        files.make_dir(path),
    ):
        with pytest.raises(OutsideWorkspace, match="Path is outside project directory"):
            await call


@pytest.mark.requirement("CTX-08")
async def test_paths_inside_are_taken_relative_or_absolute(fill: Fill):
    operations = fill({"src/main.py": "x"})

    for path in ("src/main.py", f"{operations.root}/src/main.py", "src/../src/./main.py"):
        assert await operations.files.read(path, max_bytes=9) == b"x"


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("path", ["", "a\0b", "x" * 256, "x/" * 3000, "\ud800"])
async def test_impossible_paths_are_named_as_such(fill: Fill, path: str):
    files = fill().files

    for call in (files.read(path, max_bytes=9), files.write(path, b""), files.list_dir(path)):
        assert (await failing(call)).details["code"] == "invalid_path"


@pytest.mark.requirement("CTX-08")
async def test_a_tilde_is_a_home_folder_and_not_in_the_workspace(fill: Fill):
    operations = fill()

    await operations.files.write("./~/notes", b"x")

    assert [child.path for child in await operations.files.list_dir("./~")] == ["~/notes"]
    with pytest.raises(OutsideWorkspace):
        await operations.files.write("~/notes", b"x")


@pytest.mark.parametrize("path", [".", "sub", "file/below"])
async def test_writing_where_no_file_can_be_is_refused(fill: Fill, path: str):
    operations = fill({"sub/x": "", "file": "kept"})

    error = await failing(operations.files.write(path, b"new"))

    assert error.details["code"] in ("not_a_file", "not_a_directory")
    assert await operations.files.read("file", max_bytes=9) == b"kept"
