"""Unified diffs: right, and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from app.tools.files.diff import unified_diff
from app.tools.files.text import split_lines

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "d\n"]), max_size=40).map("".join)
TEXTS = LINES | LINES.map(lambda text: text.removesuffix("\n"))


def _applied(before: str, diff: str) -> str:
    """What `before` becomes under a diff, as the patch program would do it."""
    old, new, position, mark = split_lines(before), list[str](), 0, " "
    for line in diff.split("\n")[2:]:
        if line.startswith("\\"):
            new[-1:] = [new[-1].removesuffix("\n")] if mark != "-" else new[-1:]
        elif line.startswith("@@"):
            start, length = line.split()[1].removeprefix("-").split(",")
            target = int(start) - 1 if int(length) else int(start)
            new += old[position:target]
            position = target
        elif line.startswith("+"):
            new.append(line[1:] + "\n")
        else:
            assert old[position].removesuffix("\n") == line[1:]
            new += [line[1:] + "\n"] if line.startswith(" ") else []
            position += 1
        mark = line[0]
    return "".join(new + old[position:])


@given(TEXTS, TEXTS)
def test_a_diff_turns_the_old_text_into_the_new_one(before, after):
    diff = unified_diff("f", before, after)
    assert _applied(before, diff.text) == after
    assert len(split_lines(before)) + diff.added - diff.removed == len(split_lines(after))


def test_a_diff_names_lines_counts_and_a_missing_end_of_line():
    diff = unified_diff("src/a.py", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix")
    assert diff.text.split("\n") == [
        "--- a/src/a.py",
        "+++ b/src/a.py",
        "@@ -3,4 +3,4 @@",
        " 3",
        " 4",
        " 5",
        "-6",
        "+six",
        "\\ No newline at end of file",
    ]
    assert (diff.added, diff.removed, diff.truncated) == (1, 1, False)


def test_a_new_file_is_compared_with_nothing():
    diff = unified_diff("a", None, "x\n")
    assert diff.text == "--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x"


def test_equal_texts_have_an_empty_diff():
    assert unified_diff("a", "x\n", "x\n").text == ""


def test_a_change_too_large_to_align_is_one_block_between_its_neighbours():
    before = "head\n" + "\n" * 1500 + "tail\n"
    after = "head\n" + "x\n" * 1500 + "tail\n"
    diff = unified_diff("a", before, after)
    assert _applied(before, diff.text) == after
    assert diff.text.split("\n")[2:4] == ["@@ -1,1502 +1,1502 @@", " head"]
    assert (diff.added, diff.removed, diff.truncated) == (1500, 1500, False)


def test_a_large_change_is_counted_whole_and_shown_in_part():
    diff = unified_diff("a", "old\n" * 50_000, "new\n" * 60_000)
    assert (diff.added, diff.removed, diff.truncated) == (60_000, 50_000, True)
    assert len(diff.text) < 21_000
