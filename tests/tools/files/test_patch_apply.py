"""Where hunks go."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import ToolFailed
from app.tools.files.patch import parse_patch
from app.tools.files.patch_apply import HunkMismatch, PlacedHunk, apply_hunks

NUMBERED = "".join(f"{number}\n" for number in range(1, 41))


def applied(text: str, body: str) -> tuple[str, list[PlacedHunk]]:
    (file,) = parse_patch(body)
    return apply_hunks(text, file)


def v4a(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", "*** Update File: a", *lines, "*** End Patch"])


def unified(*lines: str) -> str:
    return "\n".join(["--- a/a", "+++ b/a", *lines, ""])


def test_a_v4a_hunk_may_say_its_lines_as_a_unified_diff_does():
    text, placed = applied("a\nx\na\nx\n", v4a("@@ -3,2 +3,2 @@ def f():", " a", "-x", "+y"))
    assert text == "a\nx\na\ny\n"
    assert placed == [PlacedHunk(1, 3)]
    text, placed = applied("a\nb\n", v4a("@@ -1,0 +2,1 @@", "+between"))
    assert text == "a\nbetween\nb\n"
    text, placed = applied("a\nb\n", v4a("@@ -9,1 +9,1 @@", "-b", "+c"))
    assert (text, placed) == ("a\nc\n", [PlacedHunk(1, 2, offset=-7)])


lines_of_text = st.lists(
    st.sampled_from(["", " ", "a", "b", "c", "-", "+", "@@", "---", "*** x", "\t", "é"]),
    max_size=12,
)


@settings(deadline=None, max_examples=300)
@given(lines_of_text, lines_of_text, st.tuples(st.booleans(), st.booleans()), st.integers(0, 3))
def test_a_diff_of_two_texts_turns_the_one_into_the_other(
    one: list[str], two: list[str], ended: tuple[bool, bool], context: int
):
    old = "\n".join(one) + ("\n" if one and ended[0] else "")
    new = "\n".join(two) + ("\n" if two and ended[1] else "")
    before, after = (text.splitlines(keepends=True) for text in (old, new))
    shown = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, "a/a", "b/a", n=context)
    ]
    if not shown:
        return

    text, placed = applied(old, "".join(shown))

    assert text == new
    assert all(hunk.offset == 0 and not hunk.overlooked for hunk in placed)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ends", [("", ""), ("", "x"), ("x", ""), ("x", "x")])
def test_what_git_writes_is_applied(tmp_path: Path, newline: str, ends: tuple[str, str]):
    old = newline.join([*map(str, range(30)), ends[0]])
    new = newline.join(["new", *map(str, range(3, 20)), "mid", *map(str, range(20, 30)), ends[1]])
    (tmp_path / "old").write_bytes(old.encode())
    (tmp_path / "new").write_bytes(new.encode())
    diff = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "old", "new"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    ).stdout.decode()

    text, placed = applied(old, diff)

    assert text == new
    assert not any(hunk.overlooked for hunk in placed)


def test_a_hunk_goes_where_its_lines_are_nearest():
    text = "x\n" * 5 + "a\nb\n" + "x\n" * 20 + "a\nb\n"

    assert applied(text, unified("@@ -10,2 +10,2 @@", " a", "-b", "+B")) == (
        text.replace("a\nb\n", "a\nB\n", 1),
        [PlacedHunk(1, 6, -4)],
    )
    assert applied(text, unified("@@ -22,2 +22,2 @@", " a", "-b", "+B"))[1] == [
        PlacedHunk(1, 28, 6)
    ]


def test_later_hunks_follow_the_offset_of_earlier_ones():
    body = unified("@@ -5 +5 @@", "-10", "+ten", "@@ -15,1 +15,1 @@", "-20", "+twenty")

    text, placed = applied(NUMBERED, body)

    assert text == NUMBERED.replace("10\n", "ten\n").replace("20\n", "twenty\n")
    assert placed == [PlacedHunk(1, 10, 5), PlacedHunk(2, 20, 0)]


def test_hunks_never_go_back():
    with pytest.raises(HunkMismatch) as caught:
        applied(NUMBERED, v4a("@@", "-20", "+x", "@@", "-10", "+y"))

    assert caught.value.hunk.number == 2


def test_lines_in_several_places_need_more_to_go_by():
    text = "a\nb\nc\na\nb\n"

    with pytest.raises(HunkMismatch, match=r"more than one place \(from line 1, 4\)"):
        applied(text, v4a("@@", " a", "-b", "+B"))
    assert applied(text, v4a("@@ c", " a", "-b", "+B"))[0] == "a\nb\nc\na\nB\n"
    both = v4a("@@", " a", "-b", "+B", "@@", " a", "-b", "+B")
    assert applied(text, both)[0] == "a\nB\nc\na\nB\n"


def test_a_hint_is_a_whole_line_or_the_beginning_of_one():
    text = "class A:\n  def f(self):\n    x\nclass B:\n  def f(self):\n    x\n"

    changed = applied(text, v4a("@@ class B", "@@ def f(self):", "-    x", "+    y"))[0]

    assert changed == text[: -len("x\n")] + "y\n"
    with pytest.raises(HunkMismatch, match="no line 'class C'"):
        applied(text, v4a("@@ class C", "-    x", "+    y"))


def test_lines_that_are_only_added_need_one_place():
    assert applied("a\nb\n", v4a("@@ a", "+new"))[0] == "a\nnew\nb\n"
    assert applied("a\nb\n", v4a("+new"))[0] == "a\nb\nnew\n"
    assert applied("a\nb", v4a("+new"))[0] == "a\nb\nnew"
    with pytest.raises(HunkMismatch, match="occurs on lines 1, 2"):
        applied("a\na\n", v4a("@@ a", "+new"))
    with pytest.raises(HunkMismatch, match="line 9 is not in the file"):
        applied("a\n", unified("@@ -8,0 +9 @@", "+new"))


def test_the_end_of_the_file_is_where_it_is_said_to_be():
    assert applied("a\nb\na\n", v4a("-a", "+A", "*** End of File"))[0] == "a\nb\nA\n"
    with pytest.raises(HunkMismatch):
        applied("a\nb\n", v4a("-a", "+A", "*** End of File"))


def test_trailing_whitespace_and_line_ends_are_overlooked_and_the_files_own_stay():
    text = "one  \r\ntwo\r\nthree"

    changed, placed = applied(text, v4a(" one", "-two", "+2", " three"))

    assert changed == "one  \r\n2\r\nthree"
    assert placed == [PlacedHunk(1, 1, 0, ("trailing whitespace",))]


def test_lines_added_behind_an_open_end_of_windows_lines_get_their_ends():
    assert applied("a\r\nb", v4a(" b", "+c"))[0] == "a\r\nb\r\nc"


def test_a_diff_may_change_line_ends():
    body = unified("@@ -1,2 +1,2 @@", "-a\r", "-b\r", "+a", "+b")

    assert applied("a\r\nb\r\n", body)[0] == "a\nb\n"


def test_the_nearest_lines_are_shown():
    text = NUMBERED.replace("20\n", "twenty\n")

    with pytest.raises(HunkMismatch) as caught:
        applied(text, unified("@@ -19,3 +19,3 @@", " 19", "-20", "+XX", " 21"))

    assert caught.value.message == (
        "these lines (expected on line 19) are not in the file:\n  19\n  20\n  21\n"
        "Nearest lines:\n19| 19\n20| twenty\n21| 21\n22| 22\n23| 23"
    )


def test_a_text_that_repeats_itself_is_given_up_in_time():
    text = "a\n" * 200_000
    body = unified("@@ -1,1001 +1,1 @@", *["-a"] * 1000, "-b", "+c")

    with pytest.raises(HunkMismatch):
        applied(text, body)


def test_a_search_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.tools.files.patch_place._MAX_COMPARED", 1000)
    text = "a\nb\nc\n" * 500

    with pytest.raises(ToolFailed, match="is too repetitive") as caught:
        applied(text, unified("@@ -1,4 +1,4 @@", " a", " b", " c", "-b", "+d"))

    assert caught.value.details["code"] == "patch_failed"
