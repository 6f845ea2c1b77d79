"""Changing a text: properties of the pure functions behind `edit_file`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import ToolFailed
from app.tools.files.edits import insert_lines, replace_lines, replace_text
from app.tools.files.text import split_lines

LINES = st.lists(st.text(alphabet="ab \t", max_size=4), min_size=1, max_size=8)
NEWLINES = st.sampled_from(["\n", "\r\n"])


@given(LINES, NEWLINES, st.booleans(), st.data())
def test_a_line_edit_keeps_line_endings_and_the_end_of_the_file(lines, newline, ended, data):
    text = newline.join([*lines, "z"]) + (newline if ended else "")
    number = data.draw(st.integers(1, len(split_lines(text))))
    changed = replace_lines(text, number, number, "new\nlines")
    assert changed.endswith(newline) == ended
    assert changed.count("\n") == text.count("\n") + 1
    assert changed.count("\r\n") == (changed.count("\n") if newline == "\r\n" else 0)


@pytest.mark.parametrize(
    ("text", "start", "end", "new", "changed"),
    [
        ("a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"),
        ("a\nb\nc\n", 2, 2, "x\n", "a\nx\nc\n"),
        ("a\nb\nc\n", 1, 2, "", "c\n"),
        ("a\nb\nc", 3, 3, "x", "a\nb\nx"),
        ("a\nb\nc", 3, 3, "", "a\nb"),
        ("a\r\nb\r\n", 1, 1, "x\ny", "x\r\ny\r\nb\r\n"),
        ("a\nb\n", 1, 1, "\n", "\nb\n"),
        ("a", 1, 1, "", ""),
    ],
)
def test_lines_are_replaced_or_deleted(text, start, end, new, changed):
    assert replace_lines(text, start, end, new) == changed


@pytest.mark.parametrize(
    ("text", "before", "changed"),
    [
        ("a\nb\n", 1, "x\na\nb\n"),
        ("a\nb\n", 3, "a\nb\nx\n"),
        ("a\nb", 3, "a\nb\nx"),
        ("", 1, "x\n"),
    ],
)
def test_lines_are_inserted_in_front_of_a_line_or_at_the_end(text, before, changed):
    assert insert_lines(text, before, "x") == changed


def test_a_line_past_the_end_is_refused_with_the_length_of_the_file():
    with pytest.raises(ToolFailed, match="end_line 4 is past the end: the file has 2 lines"):
        replace_lines("a\nb\n", 2, 4, "x")
    with pytest.raises(ToolFailed, match="insert at 3 at most"):
        insert_lines("a\nb\n", 4, "x")


def test_text_with_other_line_endings_is_found_and_the_files_endings_are_kept():
    changed, count = replace_text("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n")
    assert (changed, count) == ("x\r\ny\r\nc\r\n", 1)


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("lenght = 1", "Nearest lines:\n2| length = 1"),
        ("def f():\n  return", "first line is on line 1; what follows, or the whitespace, differs"),
        ("~~~~", "No line resembles it; read the file again"),
    ],
)
def test_text_that_is_not_there_is_refused_with_counts_and_the_nearest_lines(old, message):
    with pytest.raises(ToolFailed) as caught:
        replace_text("def f():\n    length = 1\n    return length\n", old, "x")
    assert caught.value.details["code"] == "no_match"
    assert "the file 3 lines and 42 characters" in caught.value.message
    assert message in caught.value.message


@pytest.mark.requirement("FIL-09")
def test_text_that_is_there_twice_is_refused_with_its_lines():
    with pytest.raises(
        ToolFailed, match=r"old_text found 2 times, on lines 1, 3\. Add more context"
    ):
        replace_text("a\nb\na\n", "a", "x")


def test_text_that_is_there_twice_is_replaced_when_all_or_that_many_are_asked_for():
    assert replace_text("a\nb\na\n", "a", "x", every=True) == ("x\nb\nx\n", 2)
    assert replace_text("a\nb\na\n", "a", "x", expected=2) == ("x\nb\nx\n", 2)
    with pytest.raises(ToolFailed, match="found 2 times, expected_replacements is 3"):
        replace_text("a\nb\na\n", "a", "x", expected=3)


def test_a_change_that_changes_nothing_is_refused():
    with pytest.raises(ToolFailed, match="nothing to change"):
        replace_text("a\n", "a", "a")
    with pytest.raises(ToolFailed, match="the current content"):
        replace_lines("a\nb\n", 1, 1, "a")
