"""`patch`: several files at once, in both forms, all or nothing."""

from __future__ import annotations

import pytest

from app.operations.fakes.workspace import fake_workspace
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.tools.files.patch import patch
from tests.tools.calls import call, call_as

TREE = {
    "a.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "b.txt": "first\nsecond\nthird\n",
    "win.txt": "x\r\ny\r\nz\r\n",
}


@pytest.fixture
def ctx(ctx: ToolContext) -> ToolContext:
    ctx.bound_operations = fake_workspace(TREE)
    return ctx


async def files_of(ctx: ToolContext) -> dict[str, str]:
    files = ctx.operations.files
    waiting, found = ["."], {}
    while waiting:
        for child in await files.list_dir(waiting.pop()):
            if child.type == "directory":
                waiting.append(child.path)
            else:
                found[child.path] = (await files.read(child.path, max_bytes=9999)).decode()
    return found


def v4a(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def actions(result: ToolResult) -> list[tuple[str, str]]:
    return [(entry["path"], entry["action"]) for entry in result.data["files"]]


@pytest.mark.requirement("FIL-09", "B-03")
@pytest.mark.parametrize("name", ["patch", "apply_patch"])
async def test_a_patch_changes_adds_deletes_and_moves_at_once(ctx: ToolContext, name: str):
    result = await call_as(
        name,
        patch,
        ctx,
        patch=v4a(
            "*** Update File: a.py",
            "@@ def two():",
            "-    return 2",
            "+    return 22",
            "*** Add File: new/c.txt",
            "+made",
            "*** Delete File: b.txt",
            "*** Update File: win.txt",
            "*** Move to: moved.txt",
            " x",
            "-y",
            "+Y",
        ),
    )

    assert result.error is None
    assert actions(result) == [
        ("a.py", "updated"),
        ("new/c.txt", "added"),
        ("b.txt", "deleted"),
        ("moved.txt", "moved"),
    ]
    assert await files_of(ctx) == {
        "a.py": TREE["a.py"].replace("return 2\n", "return 22\n"),
        "new/c.txt": "made\n",
        "moved.txt": "x\r\nY\r\nz\r\n",
    }
    assert (result.data["added"], result.data["removed"]) == (3, 5)
    assert result.raw_result is not None
    assert (result.raw_result.type, result.raw_result.data["path"]) == ("diff", "4 files")


@pytest.mark.requirement("FIL-09")
async def test_one_hunk_that_does_not_fit_leaves_every_file_alone(ctx: ToolContext):
    result = await call(
        patch,
        ctx,
        patch=v4a(
            "*** Update File: b.txt",
            "-first",
            "+FIRST",
            "*** Update File: a.py",
            " def two():",
            "-    return 3",
            "+    return 33",
            "*** Update File: gone.txt",
            "-x",
            "+y",
        ),
    )

    assert (result.success, result.code) == (False, "patch_failed")
    assert result.error == (
        "The patch does not apply; no files were modified:\n"
        "hunk 1 of 1 in 'a.py': these lines are not in the file:\n"
        "  def two():\n"
        "      return 3\n"
        "Nearest lines:\n"
        "5| def two():\n"
        "6|     return 2\n"
        "File not found: 'gone.txt'"
    )
    assert await files_of(ctx) == TREE


async def test_a_dry_run_says_what_would_change_and_changes_nothing(ctx: ToolContext):
    diff = "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n first\n-second\n+SECOND\n"

    result = await call(patch, ctx, patch=diff, dry_run=True)

    assert result.success
    assert str(result.text).startswith("Would patch 1 file(s), +1 -1 lines\nupdated b.txt: +1 -1")
    assert result.data["files"][0]["hunks"] == [
        {"hunk": 1, "line": 1, "offset": 0, "overlooked": []}
    ]
    assert await files_of(ctx) == TREE


async def test_a_dry_run_of_what_does_not_fit_fails_the_same(ctx: ToolContext):
    diff = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nowhere\n+x\n"

    dry = await call(patch, ctx, patch=diff, dry_run=True)
    real = await call(patch, ctx, patch=diff)

    assert (dry.code, dry.error) == (real.code, real.error)
    assert dry.code == "patch_failed"


async def test_what_was_overlooked_is_said(ctx: ToolContext):
    diff = (
        "--- a/win.txt\n+++ b/win.txt\n@@ -7,2 +7,2 @@\n x\n-y\n+Y\n"
        "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-first  \n+FIRST\n"
    )

    result = await call(patch, ctx, patch=diff)

    assert result.data["files"][0]["hunks"] == [
        {"hunk": 1, "line": 1, "offset": -6, "overlooked": ["line endings"]}
    ]
    assert result.data["files"][1]["hunks"][0]["overlooked"] == ["trailing whitespace"]
    assert "(hunk 1 went -6 lines off, ignoring line endings)" in str(result.text)
    assert (await files_of(ctx))["win.txt"] == "x\r\nY\r\nz\r\n"


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        (["*** Add File: b.txt", "+x"], "'b.txt' already exists"),
        (["*** Move File: b.txt -> a.py"], "'a.py' already exists"),
        (["*** Delete File: gone"], "File not found: 'gone'"),
        (["*** Update File: b.txt", "-first", "+first"], "already matches the patch"),
    ],
)
async def test_what_cannot_be_is_refused(ctx: ToolContext, lines: list[str], reported: str):
    result = await call(patch, ctx, patch=v4a(*lines))

    assert result.code == "patch_failed"
    assert reported in str(result.error)
    assert await files_of(ctx) == TREE


async def test_one_file_may_be_patched_twice(ctx: ToolContext):
    result = await call(
        patch,
        ctx,
        patch=v4a(
            "*** Update File: b.txt",
            "-first",
            "+1",
            "*** Update File: ./b.txt",
            "-third",
            "+3",
        ),
    )

    assert result.error is None
    assert (await files_of(ctx))["b.txt"] == "1\nsecond\n3\n"


async def test_paths_outside_are_refused_and_nothing_is_written(ctx: ToolContext):
    result = await call(
        patch, ctx, patch=v4a("*** Add File: ok", "+x", "*** Add File: ../out", "+x")
    )

    assert "outside" in str(result.error)
    assert await files_of(ctx) == TREE


async def test_files_in_another_encoding_keep_it(ctx: ToolContext):
    await ctx.operations.files.write("g.txt", "你好\n世界\n".encode("gbk"))
    body = v4a("*** Update File: g.txt", "-世界", "+大家")

    refused = await call(patch, ctx, patch=body, encoding="utf-8")
    done = await call(patch, ctx, patch=body)
    named = v4a("*** Update File: g.txt", "-大家", "+世界")

    assert "not utf-8 text" in str(refused.error)
    assert done.error is None
    assert await ctx.operations.files.read("g.txt", max_bytes=99) == "你好\n大家\n".encode("gbk")
    assert (await call(patch, ctx, patch=named, encoding="gbk")).error is None


async def test_a_byte_order_mark_stays(ctx: ToolContext):
    await ctx.operations.files.write("m.txt", "\ufeffone\n".encode())

    result = await call(patch, ctx, patch=v4a("*** Update File: m.txt", "-one", "+two"))

    assert result.error is None
    assert await ctx.operations.files.read("m.txt", max_bytes=99) == "\ufefftwo\n".encode()


async def test_binary_files_are_not_patched_but_may_be_deleted(ctx: ToolContext):
    await ctx.operations.files.write("x.png", b"\x89PNG\r\n\x1a\n\x00")

    refused = await call(patch, ctx, patch=v4a("*** Update File: x.png", "-a", "+b"))
    gone = await call(patch, ctx, patch=v4a("*** Delete File: x.png"))

    assert "PNG" in str(refused.error)
    assert gone.error is None
    assert "x.png" not in await files_of(ctx)


async def test_git_modes_make_programs(ctx: ToolContext):
    diff = (
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n"
        "@@ -0,0 +1 @@\n+#!/bin/sh\n"
        "diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n"
    )

    result = await call(patch, ctx, patch=diff)

    assert result.error is None
    for path in ("run.sh", "b.txt"):
        made = await ctx.operations.files.stat(path)
        assert made is not None
        assert made.mode == 0o755
