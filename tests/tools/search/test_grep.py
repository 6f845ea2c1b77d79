"""`grep` on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidArguments
from app.tools.search.grep import grep
from tests.tools.calls import call, call_as


@pytest.fixture
async def tree(operations):
    await operations.files.write("a.py", b"import os\n\ndef find():\n    return os\n")
    await operations.files.write("src/b.md", b"Find it\nand find it again\n")
    await operations.files.write("src/c.bin", b"find\x00find\n")


@pytest.mark.requirement("FIL-11", "OPS-03")
async def test_matching_lines_come_with_file_and_number_and_binary_files_are_left_out(ctx, tree):
    result = await call(grep, ctx, pattern=r"\bfind\b", output_mode="content")
    assert result.data["matches"] == [
        {"path": "a.py", "line": 3, "text": "def find():", "match": True},
        {"path": "src/b.md", "line": 2, "text": "and find it again", "match": True},
    ]
    assert result.for_model().split("\n")[:2] == [
        "a.py:3:def find():",
        "src/b.md:2:and find it again",
    ]


async def test_files_are_listed_by_default_and_counted_on_demand(ctx, tree):
    listed = await call(grep, ctx, query="find", case_insensitive=True)
    counted = await call(grep, ctx, regex="find", case_insensitive=True, output_mode="count")
    assert listed.data["files"] == [{"path": "a.py"}, {"path": "src/b.md"}]
    assert listed.for_model().split("\n")[:2] == ["a.py", "src/b.md"]
    assert counted.for_model().split("\n")[:2] == ["a.py:1", "src/b.md:2"]


async def test_context_is_marked_and_gaps_are_shown(ctx, operations):
    await operations.files.write("n", b"1\nx\n3\n4\n5\nx\n7\n")
    result = await call(
        grep, ctx, pattern="x", output_mode="content", context_before=1, context_after=1
    )
    assert result.for_model() == "n-1-1\nn:2:x\nn-3-3\n--\nn-5-5\nn:6:x\nn-7-7"


@pytest.mark.requirement("FIL-11")
async def test_the_limit_is_kept_and_the_next_page_follows(ctx, operations):
    await operations.files.write("n", b"x\n" * 5)
    first = await call(grep, ctx, pattern="x", output_mode="content", head_limit=2)
    last = await call(grep, ctx, pattern="x", output_mode="content", head_limit=2, offset=4)
    assert first.for_model() == "n:1:x\nn:2:x\n[More follows: continue with offset=2]"
    assert (first.data["total"], first.data["truncated"]) == (5, True)
    assert [match["line"] for match in last.data["matches"]] == [5]


@pytest.mark.parametrize("narrowed", [{"glob": "*.md"}, {"type": "md"}, {"type": "markdown"}])
async def test_a_search_is_narrowed_to_some_files(ctx, tree, narrowed):
    result = await call(grep, ctx, pattern="find", **narrowed)
    assert [file["path"] for file in result.data["files"]] == ["src/b.md"]


async def test_plain_text_is_no_regular_expression(ctx, tree):
    result = await call(grep, ctx, pattern="find()", fixed_strings=True)
    assert [file["path"] for file in result.data["files"]] == ["a.py"]


async def test_a_very_long_line_is_shortened(ctx, operations):
    await operations.files.write("min.js", b"x" * 5000 + b"\n")
    result = await call(grep, ctx, pattern="x", output_mode="content")
    assert result.data["matches"][0]["text"] == "x" * 500 + "… (5000 characters)"


async def test_a_search_without_a_hit_says_how_much_was_searched(ctx, operations):
    await operations.files.write("a", b"1\n")
    result = await call(grep, ctx, pattern="nothing")
    assert (result.success, result.text) == (True, "No matches in 1 files")


@pytest.mark.requirement("FIL-11")
async def test_grep_tool_takes_the_flags_of_the_command(ctx, operations):
    await operations.files.write("n", b"1\nX\n3\n")
    flags = {"-i": True, "-n": True, "-C": 1, "output_mode": "content"}
    result = await call_as("GrepTool", grep, ctx, pattern="x", **flags)
    assert result.for_model() == "n-1-1\nn:2:X\nn-3-3"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"pattern": "("}, "invalid_pattern"),
        ({"pattern": "x", "path": "gone"}, "file_not_found"),
        ({"pattern": "x", "path": "/etc"}, "outside_workspace"),
    ],
)
async def test_a_search_that_cannot_run_is_refused(ctx, arguments, code):
    result = await call(grep, ctx, **arguments)
    assert (result.success, result.code) == (False, code)


async def test_two_filters_at_once_are_refused(ctx):
    with pytest.raises(InvalidArguments, match="set either glob or type"):
        await call(grep, ctx, pattern="x", glob="*.py", type="py")


async def test_whole_words_and_lines_that_do_not_match_are_found(ctx, operations):
    await operations.files.write("n", "find\nfinder\n我们 find它\n找 find 找\n".encode())
    words = await call(grep, ctx, pattern="find", word=True, output_mode="content")
    others = await call(grep, ctx, pattern="finder", invert=True, output_mode="content")
    assert [match["line"] for match in words.data["matches"]] == [1, 4]
    assert [match["line"] for match in others.data["matches"]] == [1, 3, 4]


async def test_lines_are_shortened_to_the_columns_asked_for(ctx, operations):
    await operations.files.write("min.js", b"x" * 100 + b"\n")
    result = await call(grep, ctx, pattern="x", output_mode="content", max_columns=20)
    assert result.data["matches"][0]["text"] == "x" * 20 + "… (100 characters)"


async def test_hidden_and_ignored_files_are_searched_only_by_name(ctx, operations):
    """A rule about `.env` sees a call that names it; it could not see a search of all."""
    await operations.files.write(".ignore", b"secret.txt\n")
    await operations.files.write("secret.txt", b"find\n")
    await operations.files.write(".env", b"find\n")
    usual = await call(grep, ctx, pattern="find")
    named = [await call(grep, ctx, pattern="find", path=path) for path in (".env", "secret.txt")]
    assert usual.data["files"] == []
    assert [result.data["files"] for result in named] == [
        [{"path": ".env"}],
        [{"path": "secret.txt"}],
    ]
    with pytest.raises(InvalidArguments, match="unknown argument include_ignored"):
        await call(grep, ctx, pattern="find", include_ignored=True)


async def test_a_file_of_more_than_two_megabytes_is_searched_only_by_name(ctx, operations):
    await operations.files.write("logs/big.log", b"." * (2 << 20) + b"find\n")
    in_folder = await call(grep, ctx, pattern="find")
    by_name = await call(grep, ctx, pattern="find", path="logs/big.log")
    assert in_folder.text == "No matches in 0 files\n[1 binary or large files skipped]"
    assert by_name.data["files"] == [{"path": "logs/big.log"}]


async def test_what_is_shown_stays_below_the_character_limit(ctx, operations):
    await operations.files.write("wide", (b"x" * 400 + b"\n") * 600)
    result = await call(grep, ctx, pattern="x", output_mode="content", head_limit=1000)
    shown = len(result.data["matches"])
    assert 120_000 < len(result.for_model()) < 128_200
    assert result.for_model().endswith(f"[More follows: continue with offset={shown}]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"context_before": 21}, "context_before must be <="),
        ({"context_after": -1}, "context_after must be >="),
        ({"head_limit": 1001}, "head_limit must be <="),
        ({"pattern": "x" * 4001}, "pattern must be at most 4000"),
        ({"max_columns": 10}, "max_columns must be >="),
    ],
)
async def test_limits_are_named_when_they_are_passed(ctx, arguments, message):
    with pytest.raises(InvalidArguments, match=message):
        await call(grep, ctx, **{"pattern": "x", **arguments})
