"""`list_dir`, `file_delete`, `file_exists` and `file_mkdir` on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidArguments
from app.toolkit.result import RawResult
from app.tools.files.file_delete import file_delete
from app.tools.files.file_exists import file_exists
from app.tools.files.file_mkdir import file_mkdir
from app.tools.files.list_dir import list_dir
from tests.tools.calls import call, call_as


@pytest.fixture
async def tree(operations):
    for path in ("src/a.py", "src/deep/b.py", "src/c.txt"):
        await operations.files.write(path, b"1\n")


@pytest.mark.requirement("FIL-07", "OPS-01", "TST-03")
async def test_a_directory_is_listed_folders_first(ctx, tree):
    result = await call(list_dir, ctx, path="src")
    assert result.text == "[Directory: src | Files: 2 | Directories: 1]\ndeep/\na.py  2\nc.txt  2"
    assert [entry["path"] for entry in result.data["entries"]] == [
        "src/deep",
        "src/a.py",
        "src/c.txt",
    ]


@pytest.mark.requirement("FIL-04")
async def test_file_list_filters_by_pattern_in_the_shape_its_users_know(ctx, tree):
    result = await call_as("file_list", list_dir, ctx, path="src", pattern="*.py")
    assert result.data == {
        "success": True,
        "path": "src",
        "files": [{"name": "a.py", "size": 2, "path": "src/a.py"}],
        "directories": [],
        "total_files": 1,
        "total_dirs": 0,
    }


@pytest.mark.requirement("FIL-04")
async def test_file_list_lists_the_whole_workspace_by_default(ctx, tree):
    result = await call_as("file_list", list_dir, ctx)
    assert result.data["directories"] == [{"name": "src", "path": "src"}]


async def test_what_is_below_is_listed_with_paths(ctx, tree):
    result = await call(list_dir, ctx, recursive=True, pattern="*.py")
    assert result.text == (
        "[Directory: . | Files: 2 | Directories: 0]\nsrc/\n  a.py  2\n  deep/\n    b.py  2"
    )


@pytest.mark.parametrize("path", ["src", "./src/", "/workspace/src", "src/deep/.."])
async def test_the_tree_begins_below_the_directory_asked_for(ctx, tree, path):
    result = await call(list_dir, ctx, path=path, recursive=True)
    assert result.for_model().split("\n")[1:] == ["a.py  2", "c.txt  2", "deep/", "  b.py  2"]


async def test_the_tree_goes_down_as_far_as_asked(ctx, tree):
    result = await call(list_dir, ctx, recursive=True, max_depth=2)
    assert [entry["path"] for entry in result.data["entries"]] == [
        "src",
        "src/a.py",
        "src/c.txt",
        "src/deep",
    ]
    assert result.data["entries"][1]["modified"].startswith("20")


async def test_the_most_entries_are_kept_and_the_rest_is_counted(ctx, operations):
    for number in range(205):
        await operations.files.write(f"many/{number}", b"")
    listed = await call(list_dir, ctx, path="many")
    tree = await call(list_dir, ctx, path="many", recursive=True, max_entries=5)
    assert (len(listed.data["entries"]), listed.data["total_files"]) == (200, 205)
    assert (len(tree.data["entries"]), tree.data["total_files"]) == (5, 205)
    assert tree.for_model().endswith("[200 more: raise max_entries or narrow pattern]")


async def test_a_listing_that_is_cut_says_so(ctx, tree):
    result = await call(list_dir, ctx, path="src", max_entries=1)
    assert result.data["truncated"] is True
    assert result.for_model().endswith("deep/\n[2 more: raise max_entries or narrow pattern]")


@pytest.mark.parametrize(
    ("path", "code"),
    [("gone", "file_not_found"), ("src/a.py", "not_a_directory"), ("..", "outside_workspace")],
)
async def test_what_is_no_directory_inside_is_refused(ctx, tree, path, code):
    result = await call(list_dir, ctx, path=path)
    assert (result.success, result.code) == (False, code)


@pytest.mark.requirement("FIL-03")
async def test_a_file_is_deleted(ctx, operations, tree):
    result = await call(file_delete, ctx, path="src/a.py")
    assert result.data == {"success": True, "path": "src/a.py"}
    assert await operations.files.stat("src/a.py") is None


async def test_a_deleted_text_comes_back_as_a_diff_and_other_content_does_not(ctx, operations):
    await operations.files.write("gbk.txt", "第一行文字\n".encode("gbk"))
    await operations.files.write("logo.png", b"\x89PNG\r\n\x1a\n")
    text, image = [await call(file_delete, ctx, path=path) for path in ("gbk.txt", "logo.png")]
    assert text.raw_result == RawResult(
        "diff",
        {
            "path": "gbk.txt",
            "diff": "--- a/gbk.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-第一行文字",
            "added": 0,
            "removed": 1,
            "truncated": False,
        },
    )
    assert (image.success, image.raw_result) == (True, None)


@pytest.mark.requirement("FIL-03")
@pytest.mark.parametrize(
    ("path", "code"),
    [("src", "not_a_file"), ("gone", "file_not_found"), ("/etc/hosts", "outside_workspace")],
)
async def test_what_is_no_file_inside_is_not_deleted(ctx, operations, tree, path, code):
    result = await call(file_delete, ctx, path=path)
    assert (result.success, result.code) == (False, code)
    assert await operations.files.stat("src/a.py") is not None


@pytest.mark.requirement("FIL-05")
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("src/a.py", {"exists": True, "type": "file", "path": "src/a.py", "size": 2}),
        ("src", {"exists": True, "type": "directory", "path": "src"}),
        ("gone", {"exists": False, "type": None, "path": "gone"}),
    ],
)
async def test_a_path_is_said_to_exist_with_its_type(ctx, tree, path, answer):
    result = await call(file_exists, ctx, path=path)
    assert (result.success, result.data) == (True, answer)


@pytest.mark.requirement("FIL-05")
async def test_nothing_is_said_about_a_path_outside(ctx):
    result = await call(file_exists, ctx, path="/etc/passwd")
    assert (result.success, result.code) == (False, "outside_workspace")


@pytest.mark.requirement("FIL-06")
async def test_a_directory_is_created_with_its_parents_once(ctx, operations):
    first = await call(file_mkdir, ctx, path="x/y/z")
    again = await call(file_mkdir, ctx, path="x/y/z")
    assert first.data == {"success": True, "path": "x/y/z", "created": True}
    assert again.data == {"success": True, "path": "x/y/z", "created": False}
    stat = await operations.files.stat("x/y/z")
    assert stat.type == "directory"


@pytest.mark.requirement("FIL-06")
async def test_a_directory_outside_is_not_created(ctx):
    result = await call(file_mkdir, ctx, path="../x")
    assert (result.success, result.code) == (False, "outside_workspace")


@pytest.mark.parametrize("tool", [file_delete, file_exists, file_mkdir])
async def test_a_call_without_a_path_is_refused(ctx, tool):
    with pytest.raises(InvalidArguments, match="missing required path"):
        await call(tool, ctx)
