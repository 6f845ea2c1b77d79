"""Reading patches: what they say, and where they are broken."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.core.errors import ToolFailed
from app.tools.files.patch_model import FilePatch, Hunk
from app.tools.files.patch_names import named_in
from app.tools.files.patch_text import READ_WHOLE_CHARS, parse_patch, paths_in_patch


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
