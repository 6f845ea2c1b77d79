"""`edit_file` on an in-memory workspace."""

from __future__ import annotations

import asyncio

import pytest

from app.core.errors import InvalidArguments
from app.tools.files.edit_file import edit_file
from tests.tools.calls import call, call_as

SOURCE = b"def f():\r\n    return 1\r\n"


@pytest.fixture
async def source(operations):
    await operations.files.write("f.py", SOURCE)


async def _content(ctx):
    return await ctx.operations.files.read("f.py", max_bytes=1000)


@pytest.mark.requirement("FIL-08")
async def test_text_is_replaced_line_endings_are_kept_and_the_diff_comes_back(ctx, source):
    result = await call(
        edit_file, ctx, path="f.py", old_text="f():\n    return 1", new_text="g():\n    return 2"
    )
    assert await _content(ctx) == b"def g():\r\n    return 2\r\n"
    diff = (
        "--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n"
        "-def f():\n-    return 1\n+def g():\n+    return 2"
    )
    assert result.data == {
        "path": "f.py",
        "replacements": 1,
        "added": 2,
        "removed": 2,
        "diff": diff,
    }
    assert result.text == f"Edited f.py: 1 place(s), +2 -2 lines\n{diff}"
    assert result.raw_result is not None
    assert result.raw_result.type == "diff"


@pytest.mark.requirement("FIL-08")
@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({"start_line": 2, "new_text": "    pass"}, b"def f():\r\n    pass\r\n"),
        ({"start_line": 1, "end_line": 2, "new_text": ""}, b""),
        ({"start_line": 1, "insert": True, "new_text": "# hi"}, b"# hi\r\n" + SOURCE),
    ],
)
async def test_lines_are_replaced_deleted_or_inserted_by_number(ctx, source, arguments, content):
    result = await call(edit_file, ctx, path="f.py", **arguments)
    assert result.success
    assert await _content(ctx) == content


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"old_text": "return 2", "new_text": "x"}, "no_match"),
        ({"old_text": "f", "new_text": "x"}, "ambiguous_match"),
        ({"old_text": "f", "new_text": "x", "expected_replacements": 3}, "ambiguous_match"),
        ({"old_text": "return 1", "new_text": "return 1"}, "no_change"),
        ({"start_line": 3, "new_text": "x"}, "line_out_of_range"),
        ({"old_text": "1", "new_text": "é", "encoding": "ascii"}, "wrong_encoding"),
    ],
)
async def test_an_edit_that_does_not_fit_changes_nothing(ctx, source, arguments, code):
    result = await call(edit_file, ctx, path="f.py", **arguments)
    assert (result.success, result.code) == (False, code)
    assert await _content(ctx) == SOURCE


async def test_a_missing_file_is_refused(ctx):
    result = await call(edit_file, ctx, path="gone.py", old_text="a", new_text="b")
    assert (result.success, result.code) == (False, "file_not_found")


async def test_an_encoding_that_would_change_other_bytes_is_refused(ctx, operations):
    await operations.files.write("mail", b"+AGE-\n")
    result = await call(edit_file, ctx, path="mail", start_line=1, new_text="b", encoding="utf-7")
    assert (result.success, result.code) == (False, "wrong_encoding")


async def test_the_byte_order_of_a_file_is_kept(ctx, operations):
    await operations.files.write("f.py", "\ufeffold\n".encode("utf-16-be"))
    await call(edit_file, ctx, path="f.py", old_text="old", new_text="new", encoding="utf-16")
    assert await _content(ctx) == "\ufeffnew\n".encode("utf-16-be")


@pytest.mark.requirement("B-03")
@pytest.mark.parametrize("name", ["edit", "EditTool"])
async def test_other_names_and_argument_names_reach_the_same_tool(ctx, source, name):
    result = await call_as(
        name, edit_file, ctx, file_path="f.py", old_string="f", new_string="g", replace_all=True
    )
    assert result.data["replacements"] == 2


async def test_edits_of_one_file_at_the_same_time_are_all_kept(ctx, operations):
    await operations.files.write("f.py", "".join(f"<{n}>\n" for n in range(20)).encode())
    results = await asyncio.gather(
        *(call(edit_file, ctx, path="f.py", old_text=f"<{n}>", new_text="x") for n in range(20))
    )
    assert all(result.success for result in results)
    assert await _content(ctx) == b"x\n" * 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "set either old_text or start_line"),
        ({"old_text": "a", "start_line": 1}, "set either old_text or start_line"),
        ({"old_text": "a", "insert": True}, "require start_line"),
        ({"start_line": 1, "replace_all": True}, "require old_text"),
        ({"start_line": 2, "end_line": 1}, "end_line must not be before"),
        ({"start_line": 1, "insert": True, "end_line": 1}, "insert requires start_line"),
        ({"old_text": ""}, "old_text must be at least 1 character"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(ctx, arguments, message):
    with pytest.raises(InvalidArguments, match=message):
        await call(edit_file, ctx, **{"path": "f.py", "new_text": "x", **arguments})
