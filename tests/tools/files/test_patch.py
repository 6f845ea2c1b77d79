"""`patch`: several files at once, in both forms, all or nothing.

Reading patches: what they say, and where they are broken.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.core.errors import ToolFailed
from app.operations.fakes.workspace import fake_workspace
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.tools.files.patch import READ_WHOLE_CHARS, parse_patch, patch, paths_in_patch
from app.tools.files.patch_model import FilePatch, Hunk
from app.tools.files.patch_names import named_in
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
    assert "(hunk 1 offset by -6 lines, ignoring line endings)" in str(result.text)
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


def test_a_v4a_patch_is_read():
    files = parse_patch(
        "\n*** Begin Patch\n*** Update File: a\n@@ class A\n@@ def b\n x\n-y\n+z\n\n@@\n+end\n"
        "*** End of File\n\n*** Add File: b c\n+1\n+\n*** Move File: d -> e\n*** Delete File: ./f\n"
        "*** End Patch\n"
    )

    assert files == (
        FilePatch(
            "a",
            "update",
            (
                Hunk(
                    1,
                    ((" ", "x"), ("-", "y"), ("+", "z"), (" ", "")),
                    hints=("class A", "def b"),
                ),
                Hunk(2, (("+", "end"),), at_end=True),
            ),
        ),
        FilePatch("b c", "add", (Hunk(1, (("+", "1"), ("+", ""))),)),
        FilePatch("d", "update", (), "e"),
        FilePatch("f", "delete"),
    )


GIT = """From 1234 Mon Sep 17 00:00:00 2001
Subject: [PATCH] something
---
 a | 2 +-
diff --git a/a b/a
index 1..2 100644
--- a/a
+++ b/a
@@ -1,2 +1,2 @@ def f():
 x
-y
\\ No newline at end of file
+z
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/empty b/empty
new file mode 100644
index 0..0
diff --git a/gone b/gone
deleted file mode 100755
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
---- odd
diff --git "a/\\344\\275\\240\\t" "b/\\344\\275\\240\\t"
old mode 100644
new mode 100755
--\x20
2.40.0
"""


def test_a_diff_of_git_is_read():
    files = parse_patch(GIT)

    assert files == (
        FilePatch(
            "a",
            "update",
            (Hunk(1, ((" ", "x"), ("-", "y"), ("+", "z")), 1, section="def f():", old_open=True),),
        ),
        FilePatch("old name", "update", (), "new name"),
        FilePatch("empty", "add", executable=False),
        FilePatch("gone", "delete", (Hunk(1, (("-", "--- odd"),), 1),)),
        FilePatch("你\t", "update", (), None, executable=True),
    )


def test_a_plain_diff_with_time_stamps_is_read():
    files = parse_patch(
        "--- src/x.c\t2024-01-01 00:00:00\n+++ src/x.c\t2024-01-02\n@@ -3,0 +4 @@\n+new\n"
    )

    assert files == (FilePatch("src/x.c", "update", (Hunk(1, (("+", "new"),), 4),)),)


@pytest.mark.parametrize("stated", ["-1,9 +1,9", "-1 +1", "-1,1 +1,9"])
def test_wrong_counts_of_a_header_are_noticed_and_passed_over(stated: str):
    files = parse_patch(
        f"--- a/a\n+++ b/a\n@@ {stated} @@\n x\n-y\n+z\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"
        if stated == "-1 +1"
        else f"--- a/a\n+++ b/a\n@@ {stated} @@\n x\n-y\n+z\n"
    )

    (hunk,) = files[0].hunks
    assert hunk.lines == ((" ", "x"), ("-", "y"), ("+", "z"))
    assert hunk.miscounted


def test_a_patch_sent_with_windows_line_ends_is_read_as_one_without():
    text = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"

    assert parse_patch(text.replace("\n", "\r\n")) == parse_patch(text)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("just text", "The patch is empty"),
        ("*** Begin Patch\n*** Update File: a\n-x\n+y", "may be truncated"),
        ("*** Begin Patch\n*** End Patch", "The patch is empty"),
        ("*** Begin Patch\nhello\n*** End Patch", "(line 2 of the patch)"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "No change below"),
        (
            "*** Begin Patch\n*** Update File: a\n?x\n*** End Patch",
            "must start with ' ', '-' or '+'",
        ),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "must start with '+'"),
        ("*** Begin Patch\n*** Move File: a\n*** End Patch", "old -> new"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nrm", "Unexpected text after"),
        ("*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", "Nothing follows the '@@'"),
        ("@@ -1 +1 @@\n-x\n+y\n", "without a file"),
        ("--- a/a\n+++ b/a\n", "No change below"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", "has no name"),
        ("diff --git a/a b/a\nnew file mode 120000\n", "regular files"),
        ("diff --git a/a b/a\nGIT binary patch\n", "Not supported"),
        ("diff --git a/a b/b\ncopy from a\ncopy to b\n", "Not supported"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_reason(text: str, reported: str):
    with pytest.raises(ToolFailed) as caught:
        parse_patch(text)

    assert reported in caught.value.message
    assert "no files were modified" in caught.value.message
    assert caught.value.details["code"] == "invalid_patch"


def test_too_many_files_are_refused():
    lines = [f"*** Delete File: {number}" for number in range(201)]

    with pytest.raises(ToolFailed, match="at most 200 files"):
        parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def test_every_path_that_a_patch_touches_is_found():
    assert paths_in_patch({"patch": GIT}) == ["a", "old name", "new name", "empty", "gone", "你\t"]


V4A = """*** Begin Patch
*** Update File: ./one two
*** Move to:  b/three
-x
+y
*** Move File: four -> five
*** Add File: a -> b
+1
*** Delete File: /w/six
*** End Patch"""


def fenced(patch: str) -> str:
    return f"Here it is:\n```diff\n{patch}\n```\n"


def in_a_command(patch: str) -> str:
    return f"apply_patch <<'EOF'\n{patch}\nEOF"


def as_json(patch: str) -> str:
    return json.dumps({"input": patch})


def indented(patch: str) -> str:
    return "\n".join(f"    {line}" for line in patch.split("\n")) if "Begin" in patch else patch


@pytest.mark.parametrize("wrapped", [str, fenced, in_a_command, as_json, indented])
@pytest.mark.parametrize("text", [GIT, GIT.replace("\n", "\r\n"), V4A, V4A.replace("\n", "\r\n")])
def test_no_path_of_a_large_patch_is_missed(text: str, wrapped: Callable[[str], str]):
    filler = "*** Add File: filler\n" if "Begin Patch" in text else "--- /dev/null\n+++ b/filler\n"
    many = READ_WHOLE_CHARS // 2
    filler += "+\n" * many if "Begin Patch" in text else f"@@ -0,0 +1,{many} @@\n" + "+\n" * many
    if "\r" in text:
        filler = filler.replace("\n", "\r\n")
    end = "*** End Patch"
    large = text.replace(end, filler + end) if end in text else text.rstrip("\n") + "\n" + filler
    large = wrapped(large)
    exact = {file.path for file in parse_patch(large)}
    exact |= {file.target for file in parse_patch(large) if file.target}

    assert len(large) > READ_WHOLE_CHARS
    assert {"a", "one two"} & exact
    assert exact <= set(paths_in_patch({"patch": large}))


def test_a_large_patch_with_too_many_names_is_not_known():
    names = "".join(f"*** Delete File: {number}\n" for number in range(READ_WHOLE_CHARS // 8))
    with pytest.raises(ToolFailed, match="too many files"):
        paths_in_patch({"patch": f"*** Begin Patch\n{names}*** End Patch"})


def test_a_name_with_an_impossible_escape_is_no_reason_to_fail():
    header = '"a/\\777"'
    text = f"--- {header}\n+++ {header}\n@@ -1 +1 @@\n-x\n+y\n"
    assert len(parse_patch(text)) == 1
    assert {file.path for file in parse_patch(text)} <= set(named_in(text, is_v4a=False))


def test_a_name_full_of_blanks_is_read_at_once():
    name = f"a{' ' * 300_000}b"
    text = f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-x\n+y\n"

    assert name in paths_in_patch({"patch": text})
