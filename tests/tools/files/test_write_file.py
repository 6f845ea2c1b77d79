"""`write_file` on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidArguments
from app.tools.files.write_file import write_file
from tests.tools.calls import call, call_as


@pytest.mark.requirement("FIL-02", "FIL-07", "OPS-01")
async def test_a_new_file_is_created_with_its_folders_and_shown_as_a_diff(ctx, operations):
    result = await call(write_file, ctx, path="a/b/new.txt", content="one\ntwo\n")
    assert await operations.files.read("a/b/new.txt", max_bytes=99) == b"one\ntwo\n"
    assert result.data == {
        "path": "a/b/new.txt",
        "size": 8,
        "bytes": 8,
        "mode": "write",
        "created": True,
        "added": 2,
        "removed": 0,
    }
    assert result.text == "Created a/b/new.txt: wrote 8 chars"
    assert result.raw_result is not None
    assert result.raw_result.type == "diff"
    assert result.raw_result.data["diff"].endswith("@@ -0,0 +1,2 @@\n+one\n+two")


@pytest.mark.requirement("FIL-02")
@pytest.mark.parametrize(
    ("mode", "content"), [("write", b"new\n"), ("overwrite", b"new\n"), ("append", b"old\nnew\n")]
)
async def test_the_mode_decides_whether_the_file_is_replaced_or_extended(
    ctx, operations, mode, content
):
    await operations.files.write("f", b"old\n")
    result = await call(write_file, ctx, path="f", content="new\n", mode=mode)
    assert result.success
    assert await operations.files.read("f", max_bytes=99) == content


@pytest.mark.requirement("FIL-02")
async def test_file_write_answers_in_the_shape_its_users_know(ctx, operations):
    result = await call_as(
        "file_write", write_file, ctx, path="zh", content="中文", encoding="gbk", mode="append"
    )
    assert await operations.files.read("zh", max_bytes=99) == "中文".encode("gbk")
    assert result.data == {"success": True, "size": 2, "path": "zh", "mode": "append"}


async def test_text_that_the_encoding_lacks_is_refused_and_nothing_is_written(ctx, operations):
    result = await call(write_file, ctx, path="f", content="中", encoding="ascii")
    assert (result.success, result.code) == (False, "wrong_encoding")
    assert await operations.files.stat("f") is None


@pytest.mark.requirement("FIL-07")
async def test_a_path_outside_is_refused(ctx):
    result = await call(write_file, ctx, path="../evil", content="x")
    assert (result.success, result.code) == (False, "outside_workspace")


async def test_an_unknown_mode_is_refused(ctx):
    with pytest.raises(InvalidArguments, match=r"mode must be one of \['write', 'overwrite'"):
        await call(write_file, ctx, path="f", content="x", mode="w")
